/* Search: a list of places to jump to, by title first, then by the words and numbers they hold.
   Gives `reportSearch`. */
var reportSearch = (function () {
  "use strict";
  var MOST = 40;
  var EXCERPT = 90;
  var places = null;
  var found = [];
  var chosen = 0;
  var dialog = null, box, list, said;

  function words(element) { return element.textContent.replace(/\s+/g, " ").trim(); }

  /* All text of an element, also what waits in its folds. */
  function textOf(element) {
    var copy = element.cloneNode(true);
    copy.querySelectorAll("script, .rg-plot, .rg-tools, .rg-anchor").forEach(function (node) { node.remove(); });
    copy.querySelectorAll("noscript").forEach(function (node) {
      var made = document.createElement("template");
      made.innerHTML = node.textContent;
      node.replaceWith(made.content);
    });
    return copy.innerHTML.replace(/<[^>]*>/g, " ").replace(/&nbsp;/g, " ").replace(/&amp;/g, "&")
      .replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/\s+/g, " ").trim();
  }

  function placesIn(root, section) {
    return Array.prototype.map.call(root.querySelectorAll("article[id], figure[id]"), function (element) {
      var title = element.querySelector("h3");
      var kind = element.matches("article") ? "Finding" : element.matches(".chart") ? "Chart" : "Table";
      return { id: element.id, title: title ? words(title) : element.id, kind: kind, where: section, text: textOf(element) };
    });
  }

  function gather() {
    var made = [];
    document.querySelectorAll("main section[id]").forEach(function (section) {
      var heading = section.querySelector("h1, h2");
      if (!heading) return;
      var entry = Array.prototype.find.call(document.querySelectorAll(".rg-side a"), function (link) {
        return link.hash === "#" + section.id;
      });
      var title = entry ? words(entry.querySelector(".rg-entry")) : words(heading);
      var lead = section.querySelector(".rg-lead, .rg-verdict");
      made.push({ id: section.id, title: title, kind: "Section", where: "", text: lead ? words(lead) : "" });
      made = made.concat(placesIn(section, title));
      section.querySelectorAll("noscript").forEach(function (node) {
        var template = document.createElement("template");
        template.innerHTML = node.textContent;
        made = made.concat(placesIn(template.content, title));
      });
    });
    return made;
  }

  function excerpt(place, word) {
    var at = place.text.toLowerCase().indexOf(word);
    var start = Math.max(0, at - EXCERPT / 3);
    return (start ? "…" : "") + place.text.slice(start, start + EXCERPT) + "…";
  }

  function matches(query) {
    var asked = query.toLowerCase().split(/\s+/).filter(Boolean);
    function inTitle(place) {
      var title = (place.title + " " + place.where + " " + place.kind).toLowerCase();
      return asked.every(function (word) { return title.indexOf(word) >= 0; });
    }
    function inText(place) {
      var text = (place.title + " " + place.where + " " + place.text).toLowerCase();
      return asked.every(function (word) { return text.indexOf(word) >= 0; });
    }
    var titled = places.filter(inTitle);
    var rest = asked.length ? places.filter(function (place) { return !inTitle(place) && inText(place); }) : [];
    return titled.map(function (place) { return { place: place, note: place.where }; })
      .concat(rest.map(function (place) {
        var word = asked.find(function (item) { return place.text.toLowerCase().indexOf(item) >= 0; });
        return { place: place, note: word ? excerpt(place, word) : place.where };
      }));
  }

  function mark() {
    Array.prototype.forEach.call(list.children, function (item, at) {
      item.setAttribute("aria-selected", String(at === chosen));
      if (at === chosen) item.scrollIntoView({ block: "nearest" });
    });
    if (found.length) box.setAttribute("aria-activedescendant", "rg-found-" + chosen);
    else box.removeAttribute("aria-activedescendant");
  }

  function piece(tag, name, text) {
    var made = document.createElement(tag);
    made.className = name;
    made.textContent = text;
    return made;
  }

  function show() {
    var all = matches(box.value);
    found = all.slice(0, MOST);
    chosen = 0;
    list.replaceChildren.apply(list, found.map(function (hit, at) {
      var item = document.createElement("li");
      item.id = "rg-found-" + at;
      item.setAttribute("role", "option");
      item.append(piece("span", "rg-kind", hit.place.kind), piece("span", "rg-hit", hit.place.title));
      if (hit.note) item.append(piece("small", "", hit.note));
      item.addEventListener("click", function () { chosen = at; go(); });
      return item;
    }));
    said.textContent = all.length ? all.length + (all.length === 1 ? " place" : " places") : "Nothing found.";
    list.hidden = !found.length;
    box.setAttribute("aria-expanded", String(Boolean(found.length)));
    mark();
  }

  function go() {
    var hit = found[chosen];
    if (!hit) return;
    dialog.close();
    if (location.hash !== "#" + hit.place.id) location.hash = "#" + hit.place.id;
    else reportFolds.reveal(hit.place.id).scrollIntoView();
  }

  function press(event) {
    var step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && found.length) {
      event.preventDefault();
      chosen = (chosen + step + found.length) % found.length;
      mark();
    } else if (event.key === "Enter") {
      event.preventDefault();
      go();
    }
  }

  function build() {
    dialog = document.createElement("dialog");
    dialog.className = "rg-dialog rg-search";
    dialog.setAttribute("aria-label", "Search the report");
    box = document.createElement("input");
    box.type = "search";
    box.placeholder = "Section, finding, chart, table, node, operator …";
    box.autocomplete = "off";
    var roles = { role: "combobox", "aria-label": "Search the report", "aria-controls": "rg-found", "aria-autocomplete": "list" };
    Object.keys(roles).forEach(function (key) { box.setAttribute(key, roles[key]); });
    list = document.createElement("ul");
    list.id = "rg-found";
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Places found");
    said = piece("p", "rg-count", "");
    said.setAttribute("role", "status");
    dialog.append(box, list, said);
    box.addEventListener("input", show);
    box.addEventListener("keydown", press);
    dialog.addEventListener("click", function (event) { if (event.target === dialog) dialog.close(); });
    document.body.appendChild(dialog);
  }

  function open() {
    if (!dialog) build();
    places = gather();
    box.value = "";
    dialog.showModal();
    show();
    box.focus();
  }

  return { open: open };
})();
