/* Charts as files: PNG or SVG with the chart's title, drawn by plotly from what the page holds. */
(function () {
  "use strict";
  var SCALE = 2;
  var TITLE_PX = 52;
  var PIE_PX = 640;

  function nameOf(figure, ending) {
    var job = document.title.replace(/[^A-Za-z0-9._-]+/g, "-").slice(0, 60);
    return (job + "-" + figure.id.replace(/--/g, "-")).replace(/^-+|-+$/g, "") + "." + ending;
  }

  function imageOf(figure, format) {
    var plot = figure.querySelector(".rg-plot");
    var title = figure.querySelector("figcaption h3");
    var style = getComputedStyle(document.documentElement);
    var layout = Object.assign({}, plot.layout);
    var harmless = (title ? title.textContent : "").replace(/&/g, "&amp;").replace(/</g, "&lt;");
    layout.paper_bgcolor = style.getPropertyValue("--rg-surface").trim();
    layout.title = { text: harmless, x: 0, xref: "paper", y: 0.98, yanchor: "top", font: { size: 15, color: style.getPropertyValue("--rg-text").trim() } };
    layout.margin = Object.assign({}, layout.margin, { t: (layout.margin && layout.margin.t || 8) + TITLE_PX });
    layout.autosize = false;
    /* A pie is saved with the legend that the table is on the page. */
    layout.showlegend = layout.showlegend || Boolean(plot.closest(".rg-pie"));
    var width = plot.closest(".rg-pie") ? PIE_PX : plot.clientWidth;
    var size = { width: width, height: plot.clientHeight + TITLE_PX };
    return window.Plotly.toImage(
      { data: plot.data, layout: Object.assign(layout, size) },
      Object.assign({ format: format, scale: format === "png" ? SCALE : 1 }, size)
    );
  }

  function save(figure, format) {
    return reportCharts.wake(figure)
      .then(function () { return imageOf(figure, format); })
      .then(function (url) {
        var link = document.createElement("a");
        link.href = url;
        link.download = nameOf(figure, format);
        document.body.appendChild(link);
        link.click();
        link.remove();
      });
  }

  function tool(figure, format) {
    var made = document.createElement("button");
    made.type = "button";
    made.className = "rg-tool";
    made.textContent = format.toUpperCase();
    made.title = "Save this chart as " + format.toUpperCase();
    made.addEventListener("click", function () {
      made.disabled = true;
      save(figure, format).catch(function () {
        document.getElementById("rg-said").textContent = "The chart could not be saved here.";
      }).then(function () { made.disabled = false; });
    });
    return made;
  }

  reportCharts.figures.forEach(function (figure) {
    var caption = figure.querySelector("figcaption");
    if (!caption) return;
    /* A table that is the chart's legend has its tools there already. */
    var place = caption.querySelector(".rg-tools") || document.createElement("div");
    place.className = "rg-tools";
    ["png", "svg"].forEach(function (format) { place.appendChild(tool(figure, format)); });
    caption.appendChild(place);
  });
})();
