/* Times in UTC, as they are written, or in this browser's zone. Gives `reportTimes`. */
var reportTimes = (function () {
  "use strict";
  var INSTANT = /(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d+)?(?: – (\d{4}-\d\d-\d\d )?(\d\d:\d\d:\d\d)(\.\d+)?)? UTC/g;
  var isLocal = false;
  var changed = [];

  function two(number) { return (number < 10 ? "0" : "") + number; }

  /* The zone at an instant, as "UTC+02:00". */
  function zone(ms) {
    var minutes = -new Date(ms).getTimezoneOffset();
    var size = Math.abs(minutes);
    return "UTC" + (minutes < 0 ? "−" : "+") + two(Math.floor(size / 60)) + ":" + two(size % 60);
  }

  function day(ms) {
    var moment = new Date(ms);
    return moment.getFullYear() + "-" + two(moment.getMonth() + 1) + "-" + two(moment.getDate());
  }

  function clock(ms) {
    var moment = new Date(ms);
    return two(moment.getHours()) + ":" + two(moment.getMinutes()) + ":" + two(moment.getSeconds());
  }

  function parsed(date, time) { return Date.parse(date + "T" + time + "Z"); }

  /* A text with its instants in this browser's zone. */
  function local(text) {
    return text.replace(INSTANT, function (all, date, time, part, endDate, endTime, endPart) {
      var start = parsed(date, time);
      var made = day(start) + " " + clock(start) + (part || "");
      if (endTime) {
        var end = parsed((endDate || date).trim(), endTime);
        made += " – " + (day(end) === day(start) ? "" : day(end) + " ") + clock(end) + (endPart || "");
      }
      return made + " " + zone(start);
    });
  }

  /* Sentences: text nodes that hold an instant. */
  function localiseText(root) {
    var walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT, function (node) {
      INSTANT.lastIndex = 0;
      var isOurs = !node.parentElement.closest("script, noscript, pre, code, .rg-plot, .rg-html");
      return isOurs && INSTANT.test(node.data) ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_REJECT;
    });
    var found = [];
    while (walker.nextNode()) found.push(walker.currentNode);
    found.forEach(function (node) {
      changed.push([node, node.data]);
      node.data = local(node.data);
    });
  }

  function put(element, text) {
    changed.push([element.firstChild, element.textContent]);
    element.firstChild.data = text;
  }

  /* Columns of instants: cells hold the exact number of seconds. */
  function localiseTable(table) {
    table.querySelectorAll("th[data-instant]").forEach(function (head) {
      var at = head.cellIndex;
      var note = head.querySelector("small");
      var cells = Array.prototype.map.call(table.tBodies[0].rows, function (row) { return row.cells[at]; })
        .filter(function (cell) { return cell && cell.dataset.v && cell.firstChild.nodeType === 3; });
      if (!cells.length || !note || !/UTC$/.test(note.textContent)) return;
      var label = zone(Number(cells[0].dataset.v) * 1000);
      put(note, label);
      cells.forEach(function (cell) {
        var ms = Math.round(Number(cell.dataset.v) * 10) * 100;
        var text = day(ms) + " " + clock(ms) + "." + Math.floor(ms / 100) % 10;
        put(cell, zone(ms) === label ? text : text + " " + zone(ms));
      });
    });
  }

  function localise(root) {
    localiseText(root);
    root.querySelectorAll("table").forEach(localiseTable);
  }

  /* An instant as plotly's date axes write it: plotly takes a number for an instant in this browser's
     zone, a text as it stands. */
  function dated(ms) {
    if (typeof ms !== "number") return ms;
    if (isNaN(ms)) return null;
    var shown = isLocal ? ms - new Date(ms).getTimezoneOffset() * 60000 : ms;
    var us = Math.round(shown * 1000), whole = Math.floor(us / 1000);
    var text = new Date(whole).toISOString().slice(0, -1).replace("T", " ");
    return us > whole * 1000 ? text + String(us - whole * 1000).padStart(3, "0") : text;
  }

  /* A figure of plotly's with its instants in the zone that is shown. */
  function place(figure) {
    var layout = figure.layout || {};
    var dates = {};
    Object.keys(layout).forEach(function (key) {
      var axis = layout[key];
      if (/^xaxis\d*$/.test(key) && axis && axis.type === "date") dates[key.replace("axis", "")] = axis;
    });
    var first = null;
    figure.data.forEach(function (trace) {
      if (!dates[trace.xaxis || "x"]) return;
      var key = trace.base && trace.orientation === "h" ? "base" : "x";
      if (!trace[key]) return;
      if (first === null && typeof trace[key][0] === "number") first = trace[key][0];
      trace[key] = Array.from(trace[key], dated);
      if (isLocal && Array.isArray(trace.text)) trace.text = trace.text.map(local);
    });
    (layout.shapes || []).concat(layout.annotations || []).forEach(function (mark) {
      if (!dates[mark.xref || "x"]) return;
      ["x", "x0", "x1"].forEach(function (key) { if (key in mark) mark[key] = dated(mark[key]); });
    });
    Object.keys(dates).forEach(function (name) {
      var axis = dates[name];
      if (axis.range) axis.range = axis.range.map(dated);
      if (!isLocal || first === null) return;
      (axis.tickformatstops || []).forEach(function (stop) { stop.value = stop.value.replace("UTC", zone(first)); });
      if (axis.hoverformat) axis.hoverformat = axis.hoverformat.replace("UTC", zone(first));
    });
    return figure;
  }

  function show(inZone) {
    if (inZone === isLocal) return;
    isLocal = inZone;
    if (isLocal) localise(document.querySelector("main"));
    else {
      changed.reverse().forEach(function (pair) { pair[0].data = pair[1]; });
      changed = [];
    }
    reportCharts.repaint();
  }

  document.addEventListener("rg-unfolded", function (event) {
    if (isLocal) localise(event.target);
  });

  return { show: show, place: place, zone: zone, isLocal: function () { return isLocal; } };
})();
