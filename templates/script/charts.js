/* Draws the figures of the page. Each is a JSON in its <figure>; plotly lies packed in the page and
   is unpacked when the first chart comes near the window. Colours are tokens of tokens.css. Gives
   `reportCharts`. */
var reportCharts = (function () {
  "use strict";
  var figures = Array.prototype.slice.call(document.querySelectorAll("figure.chart"));
  var library = null;
  var awake = [];
  var isPrinting = false;
  /* A finger that scrolls the page over a chart must not zoom it. */
  var isTouched = matchMedia("(pointer: coarse)").matches;
  var mostAwake = 10;
  var AWAKE_PX = 1200;
  var INSTANT_PX = 74;
  var LEAST_PLOT_PX = 160;
  var AROUND_PX = 56;
  var asked = new Map();
  var texted = new Map();
  var CONFIG = {
    displaylogo: false,
    responsive: true,
    showTips: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "sendDataToCloud", "toImage"],
    modeBarButtonsToAdd: reportSaving.buttons
  };

  function bytesOf(base64) {
    var letters = atob(base64);
    var bytes = new Uint8Array(letters.length);
    for (var at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
    return bytes;
  }

  /* The text of a script element, packed or plain; inflating it leaves the page free. */
  function textOf(element) {
    if (!("packed" in element.dataset)) return Promise.resolve(element.textContent);
    var stream = new Blob([bytesOf(element.textContent)]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  /* The library's text, when the figures' are there too: then they can be drawn at once. */
  function inflate() {
    var texts = figures.map(function (figure) {
      return textOf(figure.querySelector('script[type="application/json"]')).then(function (text) {
        texted.set(figure, text);
      });
    });
    var library = textOf(document.getElementById("plotly-gz"));
    return Promise.all([library].concat(texts)).then(function (found) { return found[0]; });
  }

  function unpack() {
    library = library || inflated.then(function (text) {
      var script = document.createElement("script");
      script.textContent = text;
      performance.mark("rg:unpacked");
      document.head.appendChild(script);
      performance.mark("rg:library");
      return window.Plotly;
    });
    return library;
  }

  /* A pool's entry: type, bytes, scale, offset; the largest whole number is an absent value. */
  function decode(entry) {
    var buffer = bytesOf(entry[1]).buffer;
    if (entry[0] === "f8") return new Float64Array(buffer);
    if (entry[0] === "f4") return new Float32Array(buffer);
    var stored = entry[0] === "u2" ? new Uint16Array(buffer) : new Uint32Array(buffer);
    var absent = entry[0] === "u2" ? 65535 : 4294967295;
    return Float64Array.from(stored, function (value) {
      return value === absent ? NaN : value * entry[2] + entry[3];
    });
  }

  /* The outline of an envelope: along the high curve and back along the low one, one closed piece
     per stretch without gaps. The same as `outline` in reportgen/views/charts/arrays.py. */
  function outline(side, time, low, high) {
    var made = [], start = 0, at;
    function close(stop) {
      if (stop <= start) return;
      if (made.length) made.push(NaN);
      for (at = start; at < stop; at++) made.push(side === "x" ? time[at] : high[at]);
      for (at = stop - 1; at >= start; at--) made.push(side === "x" ? time[at] : low[at]);
    }
    for (var index = 0; index <= low.length; index++) {
      if (index === low.length || isNaN(low[index]) || isNaN(high[index])) {
        close(index);
        start = index + 1;
      }
    }
    return made;
  }

  function rows(flat, columns) {
    var made = [];
    for (var at = 0; at < flat.length; at += columns) made.push(flat.subarray(at, at + columns));
    return made;
  }

  /* From the page's form of a figure (views/figure_encoding.py) to plotly's, colours included. */
  function unfolder(figure) {
    var pool = (figure.pool || []).map(decode);
    var style = getComputedStyle(document.documentElement);
    return function unfold(node) {
      if (typeof node === "string") {
        var token = /^var\((--rg-[a-z0-9-]+)\)$/.exec(node);
        return token ? style.getPropertyValue(token[1]).trim() : node;
      }
      if (Array.isArray(node)) return node.map(unfold);
      if (!node || typeof node !== "object") return node;
      if ("pool" in node) return node.columns ? rows(pool[node.pool], node.columns) : pool[node.pool];
      if ("outline" in node) {
        return outline(node.outline, pool[node.of[0]], pool[node.of[1]], pool[node.of[2]]);
      }
      if ("pairs" in node) {
        var high = pool[node.pairs[1]];
        return Array.from(pool[node.pairs[0]], function (low, at) { return [low, high[at]]; });
      }
      var copy = {};
      Object.keys(node).forEach(function (key) { copy[key] = unfold(node[key]); });
      return copy;
    };
  }

  /* Times to the millisecond are wide: on a phone they would stand on each other. */
  function ticksIn(width) { return Math.max(2, Math.floor(width / INSTANT_PX)); }
  function thinTicks(axis, width) {
    if (axis && axis.type === "date") axis.nticks = ticksIn(width);
  }

  /* As wide as a sheet, with as many instants below it as find room there; a pie keeps its size. */
  function fitSheet(figure, width) {
    var plot = figure.querySelector(".rg-plot");
    if (plot.closest(".rg-pie")) return Promise.resolve();
    var axis = plot.layout && plot.layout.xaxis;
    var more = axis && axis.type === "date" ? { "xaxis.nticks": ticksIn(width) } : {};
    return window.Plotly.relayout(plot, Object.assign({ width: width, autosize: false }, more));
  }

  /* On a phone a legend takes many lines, the more the taller it may be: what is drawn below it
     keeps its height. */
  function giveRoom(figure, plot, Plotly, tries) {
    var size = plot._fullLayout && plot._fullLayout._size;
    if (!tries || "own" in figure.dataset || !size || plot.closest(".rg-pie")) return null;
    var least = Math.min(LEAST_PLOT_PX, parseFloat(plot.style.getPropertyValue("--rg-height")) - AROUND_PX);
    if (size.h >= least - 1) return null;
    var height = Math.ceil(plot.clientHeight + least - size.h);
    plot.style.height = height + "px";
    return Plotly.relayout(plot, { height: height }).then(function () { return giveRoom(figure, plot, Plotly, tries - 1); });
  }

  function draw(figure, Plotly) {
    var plot = figure.querySelector(".rg-plot");
    var made = JSON.parse(texted.get(figure));
    if (!("own" in figure.dataset)) {
      var unfold = unfolder(made);
      made = reportTimes.place({ data: unfold(made.data), layout: unfold(made.layout) });
      made.layout.height = plot.clientHeight;
      if (figure.classList.contains("rg-timeline")) made.layout.hovermode = false;
      if (isTouched) made.layout.dragmode = false;
      thinTicks(made.layout.xaxis, plot.clientWidth);
    }
    if (!isAwake(figure)) awake.push(figure);
    var drawing = Plotly.react(plot, made.data, made.layout || {}, CONFIG);
    if (isPrinting) figure.dataset.drawn = "yes";
    return drawing.then(function () { return giveRoom(figure, plot, Plotly, 6); }).then(function () {
      figure.dataset.drawn = "yes";
      performance.mark("rg:drawn " + figure.id);
      figure.dispatchEvent(new CustomEvent("rg:drawn"));
      letSleep();
    });
  }

  /* Drawn charts cost thousands of elements: beyond mostAwake those farthest from the window are
     taken apart, and drawn again when they come near. */
  function isAwake(figure) { return awake.indexOf(figure) >= 0; }
  /* One in a closed fold, or in a view that is not chosen, has no size to be drawn in. */
  function hasRoom(figure) {
    return !figure.closest("details:not([open])") && figure.getClientRects().length > 0;
  }
  function putToSleep(figure) {
    awake.splice(awake.indexOf(figure), 1);
    window.Plotly.purge(figure.querySelector(".rg-plot"));
    figure.dispatchEvent(new CustomEvent("rg:asleep"));
  }
  function distance(figure) {
    if (!hasRoom(figure)) return Infinity;
    var box = figure.getBoundingClientRect();
    return Math.max(box.top - innerHeight, -box.bottom, 0);
  }
  function letSleep() {
    if (isPrinting || awake.length <= mostAwake) return;
    /* One that is still being drawn would wake from its purge as drawn and stay empty. */
    var farthest = awake.filter(function (figure) { return figure.dataset.drawn; })
      .map(function (figure) { return [distance(figure), figure]; })
      .sort(function (a, b) { return b[0] - a[0]; });
    farthest.slice(0, awake.length - mostAwake).forEach(function (pair) {
      if (pair[0] >= AWAKE_PX) putToSleep(pair[1]);
    });
  }

  /* Draws a chart that was never drawn, or that sleeps. */
  function wake(figure) {
    if (figure.dataset.drawn && !isAwake(figure)) return draw(figure, window.Plotly);
    return drawSoon(figure);
  }

  function drawSoon(figure) {
    if (!asked.has(figure)) {
      figure.dataset.asked = "yes";
      var drawing = unpack().then(function (Plotly) { return draw(figure, Plotly); });
      asked.set(figure, drawing.catch(function (error) {
        figure.dataset.failed = "yes";
        console.error("chart " + figure.id + " could not be drawn", error);
      }));
    }
    return asked.get(figure);
  }

  /* For print: at once if the library is there, as a browser does not wait for promises. */
  function drawAll() {
    isPrinting = true;
    return Promise.all(figures.filter(hasRoom).map(function (figure) {
      if (!window.Plotly || isAwake(figure) || figure.dataset.failed) return drawSoon(figure);
      figure.dataset.asked = "yes";
      return draw(figure, window.Plotly);
    }));
  }

  function repaint() {
    if (!window.Plotly) return Promise.resolve();
    awake.filter(function (figure) { return figure.dataset.drawn && !hasRoom(figure); }).forEach(putToSleep);
    return Promise.all(figures
      .filter(isAwake)
      .map(function (figure) { return draw(figure, window.Plotly); }));
  }

  var inflated = figures.length ? Promise.resolve().then(inflate) : null;

  if ("IntersectionObserver" in window) {
    var watcher = new IntersectionObserver(function (entries) {
      entries.forEach(function (entry) {
        if (entry.isIntersecting) wake(entry.target);
      });
    }, { rootMargin: "400px 0px" });
    figures.forEach(function (figure) { watcher.observe(figure); });
  } else {
    drawAll();
  }

  window.addEventListener("afterprint", function () { isPrinting = false; letSleep(); });

  /* The library is there before the reader is at the first chart, and before the page is printed;
     what is near is drawn ahead. */
  var whenIdle = window.requestIdleCallback || function (work) { return setTimeout(work, 200); };
  function drawNext() {
    var waiting = figures.find(function (figure) { return !figure.dataset.asked && hasRoom(figure); });
    if (!window.Plotly && figures.length) unpack();
    if (waiting && awake.length < mostAwake) drawSoon(waiting).then(function () { whenIdle(drawNext); });
  }
  window.addEventListener("load", function () { setTimeout(function () { whenIdle(drawNext); }, 200); });

  return {
    bytesOf: bytesOf, textOf: textOf, drawAll: drawAll, fitSheet: fitSheet, drawSoon: drawSoon, wake: wake, repaint: repaint, isAwake: isAwake, figures: figures,
    most: function (count) { mostAwake = count; }
  };
})();
