/* Theme, times, navigation, shortcuts and print. The page works without any of it. */
(function () {
  "use strict";
  var root = document.documentElement;
  var PRINT_WIDTH_PX = 650;
  var PRINT_PANEL_PX = 300;

  function remembered(name) {
    try {
      return localStorage.getItem("reportgen-" + name);
    } catch (error) {
      return null; /* No storage: see early.js. */
    }
  }

  function remember(name, value) {
    try {
      localStorage.setItem("reportgen-" + name, value);
    } catch (error) {
      /* The choice then lasts as long as the page. */
    }
  }

  function byId(id) { return document.getElementById(id); }

  /* Theme: the reader's choice, else the command's, else the system's. */
  var theme = byId("rg-theme");
  document.querySelector(".rg-settings").hidden = false;
  theme.value = root.dataset.theme || "auto";
  theme.addEventListener("change", function () {
    if (theme.value === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme.value;
    remember("theme", theme.value);
    reportCharts.repaint();
  });
  var darkness = matchMedia("(prefers-color-scheme: dark)");
  darkness.addEventListener("change", reportCharts.repaint);
  function turnTheme() {
    var isDark = root.dataset.theme ? root.dataset.theme === "dark" : darkness.matches;
    theme.value = isDark ? "light" : "dark";
    theme.dispatchEvent(new Event("change"));
  }

  /* Times: UTC as written, or this browser's zone. */
  var zone = byId("rg-zone");
  zone.options[1].textContent = "local (" + reportTimes.zone(Date.now()) + ")";
  zone.addEventListener("change", function () {
    remember("zone", zone.value);
    reportTimes.show(zone.value === "local");
  });
  function turnZone() {
    zone.value = zone.value === "utc" ? "local" : "utc";
    zone.dispatchEvent(new Event("change"));
  }
  if (remembered("zone") === "local") turnZone();

  /* A link to each heading. */
  function anchor(heading, id) {
    var link = document.createElement("a");
    link.className = "rg-anchor";
    link.href = "#" + id;
    link.textContent = "#";
    link.setAttribute("aria-label", "Link to “" + heading.textContent.slice(0, 80) + "”");
    var title = document.createElement("div");
    title.className = "rg-title";
    heading.replaceWith(title);
    title.append(heading, link);
  }
  function addAnchors(place) {
    place.querySelectorAll(".rg-section .rg-head h2, article[id] h3, figure[id] > figcaption h3").forEach(function (heading) {
      var target = heading.closest("article[id], figure[id], section[id]");
      var isDone = heading.nextElementSibling && heading.nextElementSibling.matches(".rg-anchor");
      if (target && !isDone) anchor(heading, target.id);
    });
  }
  addAnchors(document);
  document.addEventListener("rg-unfolded", function (event) { addAnchors(event.target); });

  /* Navigation: mark the section in view; close the menu after a choice. */
  var links = {};
  document.querySelectorAll(".rg-nav a[href^='#']").forEach(function (link) {
    var id = decodeURIComponent(link.hash.slice(1));
    (links[id] = links[id] || []).push(link);
    link.addEventListener("click", function () {
      var menu = link.closest("details");
      if (menu) menu.open = false;
    });
  });
  var sections = Object.keys(links).map(byId).filter(Boolean);
  var current = sections[0];
  function markCurrent() {
    var line = innerHeight * 0.25;
    current = sections[0];
    sections.forEach(function (section) {
      if (section.getBoundingClientRect().top <= line) current = section;
    });
    if (innerHeight + scrollY >= document.body.scrollHeight - 2) current = sections[sections.length - 1];
    Object.keys(links).forEach(function (id) {
      links[id].forEach(function (link) {
        if (current && id === current.id) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      });
    });
  }
  var isWaiting = false;
  addEventListener("scroll", function () {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(function () { isWaiting = false; markCurrent(); });
  }, { passive: true });
  markCurrent();
  function step(by) {
    var next = sections[sections.indexOf(current) + by];
    if (next) location.hash = "#" + next.id;
  }

  /* Shortcuts: one list for the keys and for the help; they can be switched off (WCAG 2.1.4). */
  var SHORTCUTS = [
    ["/", "Search the report", reportSearch.open],
    ["j", "Next section", function () { step(1); }],
    ["k", "Previous section", function () { step(-1); }],
    ["o", "Open or fold all sections", turnAll],
    ["t", "Light or dark", turnTheme],
    ["u", "UTC or local time", turnZone],
    ["?", "This list", openHelp]
  ];
  var areKeysOn = remembered("keys") !== "off";
  var help = null;
  function element(tag, text) {
    var made = document.createElement(tag);
    if (text) made.textContent = text;
    return made;
  }
  function buildHelp() {
    help = element("dialog");
    help.className = "rg-dialog rg-help";
    help.setAttribute("aria-labelledby", "rg-help-title");
    var title = element("h2", "Keyboard shortcuts");
    title.id = "rg-help-title";
    var list = element("dl");
    SHORTCUTS.forEach(function (shortcut) {
      var row = element("div"), key = element("dt"), what = element("dd", shortcut[1]);
      key.append(element("kbd", shortcut[0]));
      row.append(key, what);
      list.append(row);
    });
    var label = element("label"), box = element("input");
    box.type = "checkbox";
    box.checked = areKeysOn;
    box.addEventListener("change", function () {
      areKeysOn = box.checked;
      remember("keys", areKeysOn ? "on" : "off");
    });
    label.append(box, element("span", "Use these keys"));
    var close = element("button", "Close");
    close.type = "button";
    close.addEventListener("click", function () { help.close(); });
    var foot = element("div");
    foot.className = "rg-help-foot";
    foot.append(label, close);
    help.append(title, list, foot);
    help.addEventListener("click", function (event) { if (event.target === help) help.close(); });
    document.body.append(help);
  }
  function openHelp() {
    if (!help) buildHelp();
    help.showModal();
  }
  byId("rg-help").addEventListener("click", openHelp);
  byId("rg-find").hidden = false;
  byId("rg-find").addEventListener("click", reportSearch.open);
  addEventListener("keydown", function (event) {
    var isTyping = event.target.closest && event.target.closest("input, select, textarea, [contenteditable], dialog");
    if (!areKeysOn || isTyping || event.ctrlKey || event.altKey || event.metaKey) return;
    var known = SHORTCUTS.find(function (shortcut) { return shortcut[0] === event.key; });
    if (!known) return;
    event.preventDefault();
    known[2]();
  });

  /* All folded sections, opened together and folded together. */
  var topics = document.querySelectorAll(".rg-topic");
  function turnAll() {
    var areOpen = Array.prototype.every.call(topics, function (topic) { return topic.open; });
    topics.forEach(function (topic) {
      if (areOpen) topic.open = false;
      else reportFolds.open(topic);
    });
    byId("rg-all").firstChild.data = areOpen ? "Open all " : "Fold all ";
  }
  byId("rg-all").hidden = !topics.length;
  byId("rg-all").addEventListener("click", turnAll);

  /* Print: light, all charts that are open, as wide as a sheet. With `?print=all` the folds open,
     but those of drawn charts. */
  var before = null;
  function opensForPrint(fold) {
    if (!reportFolds.printsAll || fold.open || fold.matches(".rg-code")) return false;
    return !fold.matches("[data-drawn] > .rg-data");
  }
  addEventListener("beforeprint", function () {
    before = { theme: root.dataset.theme || "", folds: reportFolds.all().filter(opensForPrint) };
    before.folds.forEach(reportFolds.open);
    reportFolds.all().filter(opensForPrint).forEach(function (inner) {
      before.folds.push(inner);
      reportFolds.open(inner);
    });
    root.dataset.theme = "light";
    reportCharts.drawAll();
    reportCharts.repaint();
    if (!window.Plotly) return;
    reportCharts.figures.forEach(function (figure) {
      var width = figure.closest(".rg-panel") ? PRINT_PANEL_PX : PRINT_WIDTH_PX;
      if (figure.dataset.drawn) reportCharts.fitSheet(figure, width);
    });
  });
  addEventListener("afterprint", function () {
    if (before === null) return;
    if (before.theme) root.dataset.theme = before.theme;
    else delete root.dataset.theme;
    before.folds.forEach(function (fold) { fold.open = false; });
    before = null;
    reportCharts.repaint();
  });
})();
