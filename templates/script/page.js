/* Theme, navigation and print. The page works without any of it. */
(function () {
  "use strict";
  var root = document.documentElement;
  var PRINT_WIDTH_PX = 650;

  /* Theme: the reader's choice, else the command's, else the system's. */
  var box = document.querySelector(".rg-theme");
  var select = document.getElementById("rg-theme");
  box.hidden = false;
  select.value = root.dataset.theme || "auto";
  select.addEventListener("change", function () {
    if (select.value === "auto") delete root.dataset.theme;
    else root.dataset.theme = select.value;
    try {
      localStorage.setItem("reportgen-theme", select.value);
    } catch (error) {
      /* No storage: see early.js. */
    }
    reportCharts.repaint();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", reportCharts.repaint);

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
  var sections = Object.keys(links)
    .map(function (id) { return document.getElementById(id); })
    .filter(Boolean);
  function markCurrent() {
    var line = innerHeight * 0.25;
    var current = sections[0];
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

  /* Print: light, all charts, as wide as a sheet. */
  var before = null;
  addEventListener("beforeprint", function () {
    before = root.dataset.theme || "";
    root.dataset.theme = "light";
    reportCharts.drawAll();
    reportCharts.repaint();
    if (!window.Plotly) return;
    reportCharts.figures.forEach(function (figure) {
      var plot = figure.querySelector(".rg-plot");
      if (figure.dataset.drawn) window.Plotly.relayout(plot, { width: PRINT_WIDTH_PX, autosize: false });
    });
  });
  addEventListener("afterprint", function () {
    if (before === null) return;
    if (before) root.dataset.theme = before;
    else delete root.dataset.theme;
    before = null;
    reportCharts.repaint();
  });
})();
