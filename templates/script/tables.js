/* Tables: sort by a heading, filter rows, copy as CSV. Rows behind a fold join their table when it is
   opened, sorted, filtered or copied. */
(function () {
  "use strict";
  var FILTER_FROM_ROWS = 9;
  var SAID_MS = 2500;
  var ABSENT = "–";

  function rowsOf(table) { return Array.prototype.slice.call(table.tBodies[0].rows); }

  function textOf(cell) { return cell.textContent.replace(/\s+/g, " ").trim(); }

  /* The fold that holds the table's further rows, if there is one. */
  function foldOf(table) {
    var fold = (table.closest(".rg-scroll") || table).nextElementSibling;
    return fold && fold.matches("details[data-rows]") ? fold : null;
  }

  function join(table) {
    var fold = foldOf(table);
    if (!fold) return;
    var hadFocus = fold.contains(document.activeElement);
    reportFolds.unpack(fold);
    rowsOf(fold.querySelector("table")).forEach(function (row) { table.tBodies[0].appendChild(row); });
    fold.remove();
    table.dispatchEvent(new CustomEvent("rg-joined"));
    if (hadFocus) table.closest(".rg-scroll").focus();
  }

  /* What a cell sorts by: a number where it has one, else its words; null is nothing. */
  function keyOf(row, at) {
    var cell = row.cells[at];
    if (!cell) return null;
    if (cell.dataset.k !== undefined) return cell.dataset.k === "" ? null : Number(cell.dataset.k);
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    var text = textOf(cell.querySelector("abbr[title]") ? cell.querySelector("abbr[title]") : cell);
    if (text === ABSENT || text === "") return null;
    return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  }

  function compared(one, other) {
    if (typeof one === "number" && typeof other === "number") return one - other;
    return String(one).localeCompare(String(other), undefined, { numeric: true });
  }

  function sort(table, head) {
    join(table);
    var rows = rowsOf(table);
    rows.forEach(function (row, at) { if (!row.dataset.at) row.dataset.at = String(at + 1); });
    var at = head.cellIndex;
    var keys = new Map(rows.map(function (row) { return [row, keyOf(row, at)]; }));
    var isNumber = rows.some(function (row) { return typeof keys.get(row) === "number"; });
    var order = isNumber ? ["descending", "ascending", null] : ["ascending", "descending", null];
    var wanted = order[(order.indexOf(head.getAttribute("aria-sort")) + 1) % order.length];
    table.querySelectorAll("th[aria-sort]").forEach(function (other) { other.removeAttribute("aria-sort"); });
    if (wanted) head.setAttribute("aria-sort", wanted);
    rows.sort(function (one, other) {
      var first = keys.get(one), second = keys.get(other);
      var byPlace = one.dataset.at - other.dataset.at;
      if (!wanted) return byPlace;
      if (first === null || second === null) return (first === null) - (second === null) || byPlace;
      return (wanted === "ascending" ? 1 : -1) * compared(first, second) || byPlace;
    });
    rows.forEach(function (row) { table.tBodies[0].appendChild(row); });
  }

  function makeSortable(table) {
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (head) {
      var button = document.createElement("button");
      button.type = "button";
      button.className = "rg-sort";
      while (head.firstChild) button.appendChild(head.firstChild);
      head.appendChild(button);
      button.addEventListener("click", function () { sort(table, head); });
    });
  }

  function quoted(text) {
    return /[",\r\n]/.test(text) || text !== text.trim() ? '"' + text.replace(/"/g, '""') + '"' : text;
  }

  /* A cell that a spreadsheet could take for a formula is kept a text. */
  function harmless(text) { return /^[=+@\t-]/.test(text) && isNaN(Number(text)) ? "'" + text : text; }

  function dataOf(cell) {
    if (!cell) return "";
    if (cell.dataset.c !== undefined) return harmless(cell.dataset.c);
    if (cell.dataset.v !== undefined) return cell.dataset.v;
    var name = cell.querySelector("abbr[title]");
    var text = name ? name.title : textOf(cell);
    return text === ABSENT ? "" : harmless(text);
  }

  function csvOf(table) {
    var rows = rowsOf(table).filter(function (row) { return !row.hidden; });
    var heads = Array.prototype.map.call(table.tHead.rows[0].cells, function (head) {
      return head.dataset.name || textOf(head);
    });
    var hasUnits = Boolean(table.querySelector("td[data-u]"));
    var lines = rows.map(function (row) {
      var cells = heads.map(function (_, at) { return dataOf(row.cells[at]); });
      var unit = row.querySelector("td[data-u]");
      return hasUnits ? cells.concat(unit ? unit.dataset.u : "") : cells;
    });
    return [hasUnits ? heads.concat("unit") : heads].concat(lines)
      .map(function (cells) { return cells.map(quoted).join(","); }).join("\r\n") + "\r\n";
  }

  function copy(text) {
    function byHand() {
      var box = document.createElement("textarea");
      box.value = text;
      box.className = "rg-hidden";
      document.body.appendChild(box);
      box.select();
      var isDone = document.execCommand("copy");
      box.remove();
      return isDone ? Promise.resolve() : Promise.reject(new Error("copying is not allowed here"));
    }
    return navigator.clipboard ? navigator.clipboard.writeText(text).catch(byHand) : byHand();
  }

  function button(label, title, work) {
    var made = document.createElement("button");
    made.type = "button";
    made.className = "rg-tool";
    made.textContent = label;
    made.title = title;
    made.addEventListener("click", function () { work(made); });
    return made;
  }

  function say(element, text) {
    var before = element.dataset.label || element.textContent;
    element.dataset.label = before;
    element.textContent = text;
    document.getElementById("rg-said").textContent = text;
    setTimeout(function () { element.textContent = before; }, SAID_MS);
  }

  function copier(table) {
    return button("Copy CSV", "Copy this table as CSV, numbers in full", function (pressed) {
      join(table);
      var text = csvOf(table);
      var rows = rowsOf(table).filter(function (row) { return !row.hidden; }).length;
      var count = rows.toLocaleString("en") + (rows === 1 ? " row" : " rows");
      copy(text).then(function () { say(pressed, "Copied " + count); },
        function () { say(pressed, "Copying is not allowed here"); });
    });
  }

  function filterer(table, label) {
    var box = document.createElement("input");
    box.type = "search";
    box.className = "rg-filter";
    box.placeholder = "Filter rows";
    box.setAttribute("aria-label", "Filter the rows of " + label);
    box.addEventListener("focus", function () { join(table); });
    box.addEventListener("input", function () {
      var words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      var shown = 0, rows = rowsOf(table);
      rows.forEach(function (row) {
        var text = row.textContent.toLowerCase();
        row.hidden = !words.every(function (word) { return text.indexOf(word) >= 0; });
        if (!row.hidden) shown += 1;
      });
      document.getElementById("rg-said").textContent =
        shown.toLocaleString("en") + " of " + rows.length.toLocaleString("en") + " rows";
    });
    box.addEventListener("keydown", function (event) {
      if (event.key !== "Escape" || !box.value) return;
      event.stopPropagation();
      box.value = "";
      box.dispatchEvent(new Event("input"));
    });
    return box;
  }

  function equip(table) {
    if (table.dataset.equipped || !table.tHead || !table.tBodies.length) return;
    table.dataset.equipped = "yes";
    var fold = foldOf(table);
    var count = rowsOf(table).length + (fold ? Number(fold.dataset.rows) : 0);
    var scroll = table.closest(".rg-scroll");
    if (count > 1) makeSortable(table);
    var place = document.createElement("div");
    place.className = "rg-tools";
    if (count >= FILTER_FROM_ROWS) place.appendChild(filterer(table, scroll.getAttribute("aria-label")));
    place.appendChild(copier(table));
    var figure = scroll.closest("figure");
    var isFolded = figure && figure.contains(scroll.closest("details"));
    var caption = figure && !isFolded && figure.querySelector("figcaption");
    if (caption && !caption.querySelector(".rg-tools")) caption.appendChild(place);
    else scroll.before(place);
    if (fold) {
      fold.querySelector("summary").addEventListener("click", function (event) {
        event.preventDefault();
        join(table);
      });
    }
  }

  function equipAll(root) {
    root.querySelectorAll(".rg-scroll > table").forEach(function (table) {
      var isRest = table.closest("details[data-rows]");
      if (!isRest) equip(table);
    });
  }

  equipAll(document);
  /* On paper a table has one head, and its columns are as wide in each row. */
  addEventListener("beforeprint", function () {
    if (reportFolds.printsAll) document.querySelectorAll("table[data-equipped]").forEach(join);
  });
  document.addEventListener("rg-unfolded", function (event) {
    if (!event.target.dataset.rows) equipAll(event.target);
  });
})();
