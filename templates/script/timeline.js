/* One range of time for all charts that have a time axis: a zoom in one zooms all. Over the timeline
   the pointer reads every panel; the functions below it are those of the range in view. Ranges are
   [start, end] in seconds of the job's clock; null is the whole job. Uses `reportCharts` and
   `reportTimes`. */
var reportRange = (function () {
  "use strict";
  var figures = reportCharts.figures.filter(function (figure) { return "time" in figure.dataset; });
  var main = document.getElementById("timeline-axis");
  var facts = main ? JSON.parse(main.querySelector(".rg-timeline-facts").textContent) : null;
  var range = null;
  var rereads = function () {};
  var shownRange = new Map();
  var following = new Set();
  var LEAST_S = 1e-4;

  /* Between the axis and the job's clock. A date axis counts milliseconds as it shows them. */
  function isDated(plot) { return plot._fullLayout.xaxis.type === "date"; }
  function offsetMs(seconds) {
    return reportTimes.isLocal() ? -new Date(seconds * 1000).getTimezoneOffset() * 60000 : 0;
  }
  function toAxis(plot, seconds) {
    if (!isDated(plot)) return seconds;
    return new Date(Math.round(seconds * 1000) + offsetMs(seconds)).toISOString().slice(0, -1).replace("T", " ");
  }
  function fromCounted(plot, value) {
    return isDated(plot) ? (value - offsetMs(value / 1000)) / 1000 : value;
  }
  function fromAxis(plot, value) {
    return fromCounted(plot, typeof value === "number" ? value : plot._fullLayout.xaxis.r2c(value));
  }

  function whole() { return facts ? [facts.start, facts.end] : null; }
  function isWhole(next) {
    var all = whole();
    if (!next || !all) return !next;
    var slack = 1e-3 * (all[1] - all[0]);
    return next[0] <= all[0] + slack && next[1] >= all[1] - slack;
  }
  function clamped(next) {
    var all = whole();
    if (!next || !all) return next;
    var length = Math.min(Math.max(next[1] - next[0], LEAST_S), all[1] - all[0]);
    var start = Math.min(Math.max(next[0], all[0]), all[1] - length);
    return isWhole([start, start + length]) ? null : [start, start + length];
  }

  /* Charts follow when they are in view; the others when they come into it. */
  function isNear(figure) {
    var box = figure.getBoundingClientRect();
    return box.bottom > -200 && box.top < innerHeight + 200;
  }
  function follow(figure) {
    if (shownRange.get(figure) === range || !reportCharts.isAwake(figure)) return;
    var plot = figure.querySelector(".rg-plot");
    var all = figure === main ? whole() : null;
    var next = range || all;
    shownRange.set(figure, range);
    following.add(figure);
    var axis = next ? { "xaxis.range": [toAxis(plot, next[0]), toAxis(plot, next[1])] } : { "xaxis.autorange": true };
    var shown = refined(plot, Boolean(range));
    var moved = shown ? window.Plotly.update(plot, { visible: shown }, axis) : window.Plotly.relayout(plot, axis);
    moved.then(function () {
      following.delete(figure);
      if (figure === main) rereads();
    });
  }

  /* Which curves are shown: a zoom shows the steps one by one in place of their thinned curve. */
  function refined(plot, isZoomed) {
    function isRefined(trace) { return trace.meta === "refined"; }
    var first = plot.data.find(isRefined);
    if (!first || Boolean(first.visible) === isZoomed) return null;
    var axes = plot.data.filter(isRefined).map(function (trace) { return trace.yaxis; });
    return plot.data.map(function (trace) {
      return axes.indexOf(trace.yaxis || "y") < 0 || isRefined(trace) === isZoomed;
    });
  }
  function followAll() { figures.filter(isNear).forEach(follow); }

  function set(next) {
    range = clamped(next);
    followAll();
    tellRange();
  }

  var heard = new Set();
  function listen(figure) {
    var plot = figure.querySelector(".rg-plot");
    if (heard.has(figure)) return;
    heard.add(figure);
    plot.on("plotly_relayout", function (change) {
      if (following.has(figure)) return;
      var start = change["xaxis.range[0]"], end = change["xaxis.range[1]"];
      if (change["xaxis.range"]) { start = change["xaxis.range"][0]; end = change["xaxis.range"][1]; }
      if (start !== undefined && end !== undefined) set([fromAxis(plot, start), fromAxis(plot, end)]);
      else if (change["xaxis.autorange"]) set(null);
    });
  }

  figures.forEach(function (figure) {
    figure.addEventListener("rg:drawn", function () {
      shownRange.set(figure, null);
      listen(figure);
      if (range) follow(figure);
      if (figure === main) addReader();
    });
    figure.addEventListener("rg:asleep", function () { heard.delete(figure); });
  });
  if ("IntersectionObserver" in window) {
    var watcher = new IntersectionObserver(function (entries) {
      entries.forEach(function (entry) { if (entry.isIntersecting) follow(entry.target); });
    }, { rootMargin: "200px 0px" });
    figures.forEach(function (figure) { watcher.observe(figure); });
  }

  /* What the range is, said on the page. */
  var chip = document.createElement("div");
  chip.className = "rg-chip";
  chip.hidden = true;
  chip.setAttribute("role", "status");
  var chipText = document.createElement("span");
  var chipButton = document.createElement("button");
  chipButton.type = "button";
  chipButton.textContent = "Whole job";
  chipButton.addEventListener("click", function () { set(null); });
  chip.append(chipText, chipButton);
  document.body.appendChild(chip);

  function clock(seconds) {
    if (!facts || !facts.unix) return seconds.toFixed(2) + " s";
    var text = new Date(Math.round(seconds * 1000) + offsetMs(seconds)).toISOString();
    return text.slice(11, facts.end - facts.start < 3600 ? 21 : 19);
  }
  function duration(seconds) {
    if (seconds < 1) return (seconds * 1000).toPrecision(3) + " ms";
    if (seconds < 60) return Number(seconds.toPrecision(3)) + " s";
    var minutes = Math.floor(Math.round(seconds) / 60), rest = Math.round(seconds) % 60;
    if (minutes < 60) return minutes + " min " + (rest < 10 ? "0" : "") + rest + " s";
    return Math.floor(minutes / 60) + " h " + (minutes % 60 < 10 ? "0" : "") + (minutes % 60) + " min";
  }

  function tellRange() {
    chip.hidden = !range;
    if (range) chipText.textContent = "Zoomed to " + clock(range[0]) + " – " + clock(range[1]);
    if (!facts) return;
    var now = range || whole();
    main.querySelectorAll("[data-edge]").forEach(function (input) {
      var edge = input.dataset.edge === "start" ? now[0] : now[1];
      input.value = String(Number((edge - facts.start).toFixed(3)));
    });
    tellFunctions(now);
  }

  /* Functions of the range: whole stretches that it touches. */
  var functions = null;
  function unpackFunctions() {
    var letters = atob(facts.functions.cells);
    var bytes = new Uint8Array(letters.length);
    for (var at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
    functions = new Float32Array(bytes.buffer);
  }
  function tellFunctions(now) {
    var box = document.getElementById("timeline-functions");
    if (!box || !facts.functions) return;
    if (!functions) unpackFunctions();
    var table = facts.functions;
    var from = Math.max(0, Math.floor((now[0] - table.first) / table.width));
    var to = Math.min(table.n, Math.max(from + 1, Math.ceil((now[1] - table.first) / table.width - 1e-9)));
    var sums = table.names.map(function (name, row) {
      var sum = 0;
      for (var at = from; at < to; at++) sum += functions[row * table.n + at];
      return { name: name, sum: sum };
    }).filter(function (item) { return item.sum > 0; });
    sums.sort(function (a, b) { return b.sum - a.sum; });
    box.querySelector(".rg-range").textContent = range
      ? "from " + clock(table.first + from * table.width) + " to " +
        clock(Math.min(table.first + to * table.width, whole()[1])) : "of the whole job";
    box.querySelector(".rg-range-note").textContent = range
      ? "Exact to whole stretches of time: all that the range in view touches." : "";
    var body = box.querySelector("tbody");
    body.textContent = "";
    sums.slice(0, table.most).forEach(function (item) {
      var row = body.insertRow();
      var head = document.createElement("th");
      head.scope = "row";
      head.textContent = item.name;
      row.appendChild(head);
      row.insertCell().textContent = duration(item.sum);
      var bar = document.createElement("span"), ink = document.createElement("i");
      bar.className = "rg-function-bar";
      ink.style.width = 100 * item.sum / sums[0].sum + "%";
      bar.appendChild(ink);
      row.insertCell().appendChild(bar);
    });
    if (!sums.length) body.insertRow().insertCell().textContent = "No function ran in this range.";
  }

  /* Tools and keys. */
  function zoom(how) {
    var all = whole(), now = range || all;
    var length = now[1] - now[0], middle = (now[0] + now[1]) / 2;
    if (how === "all") set(null);
    if (how === "in") set([middle - length / 4, middle + length / 4]);
    if (how === "out") set([middle - length, middle + length]);
    if (how === "left") set([now[0] - length / 4, now[1] - length / 4]);
    if (how === "right") set([now[0] + length / 4, now[1] + length / 4]);
  }
  var KEYS = { "+": "in", "=": "in", "-": "out", "0": "all", ArrowLeft: "left", ArrowRight: "right" };
  if (main) {
    var tools = main.querySelector(".rg-zoom");
    tools.hidden = false;
    tools.addEventListener("click", function (event) {
      var button = event.target.closest("[data-zoom]");
      if (button) zoom(button.dataset.zoom);
    });
    tools.addEventListener("change", function () {
      var edges = Array.prototype.map.call(tools.querySelectorAll("[data-edge]"), function (input) {
        return facts.start + Number(input.value);
      });
      if (edges[0] < edges[1]) set(edges);
      else tellRange();
    });
    main.querySelector(".rg-axis").addEventListener("keydown", function (event) {
      if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
      event.preventDefault();
      event.stopPropagation();
      zoom(KEYS[event.key]);
    });
  }

  /* The pointer reads all panels. */
  function lastAt(sorted, value) {
    var low = 0, high = sorted.length;
    while (low < high) {
      var middle = (low + high) >> 1;
      if (sorted[middle] <= value) low = middle + 1; else high = middle;
    }
    return low - 1;
  }

  function stepAt(seconds) {
    var time = facts.steps.time, step = facts.steps.step;
    var at = lastAt(time, seconds);
    if (at < 0 || (at === time.length - 1 && seconds > time[at] + 2 * (time[at] - time[Math.max(0, at - 1)]))) return "";
    if (at === time.length - 1 || step[at + 1] - step[at] <= 1) return "step " + step[at].toLocaleString("en");
    var part = (seconds - time[at]) / (time[at + 1] - time[at]);
    return "step ≈ " + Math.floor(step[at] + part * (step[at + 1] - step[at])).toLocaleString("en");
  }

  function said(value, panel) {
    if (value === null) return "–";
    var text = panel.percent ? value.toFixed(1) : Number(value.toPrecision(3)).toLocaleString("en");
    return panel.unit ? text + " " + panel.unit : text;
  }

  function curvesOf(plot) {
    return facts.panels.map(function (panel) {
      return panel.names.map(function (name, at) {
        var trace = plot.data.findIndex(function (item) {
          return item.yaxis === panel.axis && item.name === name && item.mode === "lines" && item.hovertemplate;
        });
        if (trace < 0) return null;
        var points = plot.calcdata[trace];
        return {
          name: panel.lines[at],
          x: points.map(function (point) { return point.x; }),
          y: points.map(function (point) { return isFinite(point.y) ? point.y : null; })
        };
      }).filter(Boolean);
    });
  }

  function read(panel, curves, x) {
    var values = curves.map(function (curve) {
      var at = lastAt(curve.x, x);
      return { name: curve.name, value: at < 0 ? null : curve.y[at] };
    });
    if (values.length === 1) return said(values[0].value, panel);
    if (values.length <= 3) {
      var present = values.filter(function (item) { return item.value !== null; });
      return (present.length ? present : values).map(function (item) { return item.name + " " + said(item.value, panel); }).join(" · ");
    }
    var known = values.filter(function (item) { return item.value !== null; });
    if (!known.length) return "–";
    known.sort(function (a, b) { return a.value - b.value; });
    var low = known[0], high = known[known.length - 1];
    return low.name + " " + said(low.value, panel) + " – " + high.name + " " + said(high.value, panel);
  }

  function wordsAt(lane, seconds) {
    var found = [];
    for (var at = lastAt(lane.start, seconds); at >= 0 && found.length < 2; at--) {
      if (lane.end[at] >= seconds) found.push(lane.words[at]);
    }
    return found.join(" · ");
  }

  function addReader() {
    var plot = main.querySelector(".rg-plot");
    var size = plot._fullLayout._size;
    var curves = null, calculated = null;
    plot.querySelectorAll(".rg-reads, .rg-cross").forEach(function (old) { old.remove(); });
    var cross = document.createElement("div"), reads = document.createElement("div");
    cross.className = "rg-cross";
    reads.className = "rg-reads";
    cross.hidden = reads.hidden = true;
    cross.style.top = size.t + "px";
    cross.style.height = size.h + "px";
    function label(top) {
      var span = document.createElement("span");
      span.style.top = top + "px";
      reads.appendChild(span);
      return span;
    }
    var when = label(size.t - 24);
    when.className = "rg-when";
    var laneLabels = facts.lanes.map(function (lane, at) { return label(size.t + 30 * at - 1); });
    var panelLabels = facts.panels.map(function (panel) { return label(size.t + panel.top - 19); });
    plot.append(cross, reads);

    var last = null;
    function show(event) {
      last = event;
      var box = plot.getBoundingClientRect();
      var x = event.clientX - box.left - plot._fullLayout._size.l;
      if (x < 0 || x > plot._fullLayout._size.w) { hide(); return; }
      if (calculated !== plot.calcdata) { curves = curvesOf(plot); calculated = plot.calcdata; }
      var counted = plot._fullLayout.xaxis.p2c(x);
      var seconds = fromCounted(plot, counted);
      cross.hidden = reads.hidden = false;
      cross.style.left = event.clientX - box.left + "px";
      when.textContent = clock(seconds) + (facts.steps.time.length ? "  " + stepAt(seconds) : "");
      when.style.left = Math.min(Math.max(0, event.clientX - box.left - when.offsetWidth / 2), box.width - when.offsetWidth) + "px";
      laneLabels.forEach(function (span, at) { span.textContent = wordsAt(facts.lanes[at], seconds); });
      panelLabels.forEach(function (span, at) { span.textContent = read(facts.panels[at], curves[at], counted); });
    }
    function hide() { cross.hidden = reads.hidden = true; }
    /* A zoom by keys or numbers leaves the pointer where it is, over another moment. */
    rereads = function () { if (last && !cross.hidden) show(last); };
    plot.onmousemove = show;
    plot.onmouseleave = hide;
  }

  return {
    set: set,
    get: function () { return range; }
  };
})();
