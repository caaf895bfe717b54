/* Draws the figures of the page. Each is a JSON in its <figure>; plotly lies packed in the page and
   is unpacked when the first chart comes near the window. Colours are tokens of tokens.css. */
var reportCharts = (function () {
  "use strict";
  var figures = Array.prototype.slice.call(document.querySelectorAll("figure.chart"));
  var library = null;
  var CONFIG = {
    displaylogo: false,
    responsive: true,
    showTips: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "sendDataToCloud"]
  };

  function unpack() {
    if (library) return library;
    library = (async function () {
      var packed = atob(document.getElementById("plotly-gz").textContent.trim());
      var bytes = Uint8Array.from(packed, function (letter) { return letter.charCodeAt(0); });
      var stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      var script = document.createElement("script");
      script.textContent = await new Response(stream).text();
      document.head.appendChild(script);
      return window.Plotly;
    })();
    return library;
  }

  function painter() {
    var style = getComputedStyle(document.documentElement);
    return function paint(node) {
      if (typeof node === "string") {
        var token = /^var\((--rg-[a-z0-9-]+)\)$/.exec(node);
        return token ? style.getPropertyValue(token[1]).trim() : node;
      }
      if (Array.isArray(node)) return node.map(paint);
      if (node && typeof node === "object") {
        var copy = {};
        Object.keys(node).forEach(function (key) { copy[key] = paint(node[key]); });
        return copy;
      }
      return node;
    };
  }

  function draw(figure, Plotly) {
    var plot = figure.querySelector(".rg-plot");
    var made = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    if (!("own" in figure.dataset)) made = painter()(made);
    var layout = made.layout || {};
    if (!("own" in figure.dataset)) layout.height = plot.clientHeight;
    if (plot.clientWidth < 480 && layout.legend) layout.legend.font = Object.assign({}, layout.legend.font, { size: 11 });
    return Plotly.react(plot, made.data, layout, CONFIG).then(function () {
      figure.dataset.drawn = "yes";
    });
  }

  function drawSoon(figure) {
    if (figure.dataset.asked) return Promise.resolve();
    figure.dataset.asked = "yes";
    return unpack().then(function (Plotly) { return draw(figure, Plotly); }).catch(function (error) {
      figure.dataset.failed = "yes";
      console.error("chart " + figure.id + " could not be drawn", error);
    });
  }

  function drawAll() {
    return Promise.all(figures.map(drawSoon));
  }

  function repaint() {
    if (!window.Plotly) return Promise.resolve();
    return Promise.all(figures
      .filter(function (figure) { return figure.dataset.drawn; })
      .map(function (figure) { return draw(figure, window.Plotly); }));
  }

  if ("IntersectionObserver" in window) {
    var watcher = new IntersectionObserver(function (entries) {
      entries.forEach(function (entry) {
        if (!entry.isIntersecting) return;
        watcher.unobserve(entry.target);
        drawSoon(entry.target);
      });
    }, { rootMargin: "400px 0px" });
    figures.forEach(function (figure) { watcher.observe(figure); });
  } else {
    drawAll();
  }

  /* A page that is printed later needs the library and all charts by then. */
  var whenIdle = window.requestIdleCallback || function (work) { return setTimeout(work, 1500); };
  function drawNext() {
    var waiting = figures.find(function (figure) { return !figure.dataset.asked; });
    if (waiting) drawSoon(waiting).then(function () { whenIdle(drawNext); });
  }
  window.addEventListener("load", function () { setTimeout(function () { whenIdle(drawNext); }, 1500); });

  return { drawAll: drawAll, repaint: repaint, figures: figures };
})();
