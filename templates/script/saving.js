/* Charts as files: two buttons in plotly's own bar, PNG and SVG, with the chart's title. Gives
   `reportSaving`. */
var reportSaving = (function () {
  "use strict";
  var TITLE_PX = 52;
  var PIE_PX = 640;

  function nameOf(figure) {
    return (document.title.slice(0, 60) + "-" + figure.id).replace(/[^A-Za-z0-9._]+/g, "-").replace(/^-/, "");
  }

  function titled(figure, plot, size) {
    var title = figure.querySelector("figcaption h3");
    var style = getComputedStyle(document.documentElement);
    var harmless = (title ? title.textContent : "").replace(/&/g, "&amp;").replace(/</g, "&lt;");
    var top = plot.layout.margin && plot.layout.margin.t || 8;
    return Object.assign({}, plot.layout, size, {
      autosize: false,
      /* A pie is saved with the legend that the table is on the page. */
      showlegend: plot.layout.showlegend || Boolean(plot.closest(".rg-pie")),
      paper_bgcolor: style.getPropertyValue("--rg-surface").trim(),
      title: { text: harmless, x: 0, xref: "paper", y: 0.98, yanchor: "top", font: { size: 15, color: style.getPropertyValue("--rg-text").trim() } },
      margin: Object.assign({}, plot.layout.margin, { t: top + TITLE_PX })
    });
  }

  function save(plot, format) {
    var figure = plot.closest("figure");
    var width = plot.closest(".rg-pie") ? PIE_PX : plot.clientWidth;
    var size = { width: width, height: plot.clientHeight + TITLE_PX };
    var options = { format: format, filename: nameOf(figure), scale: format === "png" ? 2 : 1 };
    window.Plotly.downloadImage(
      { data: plot.data, layout: titled(figure, plot, size) }, Object.assign(options, size)
    ).catch(function () {
      document.getElementById("rg-said").textContent = "The chart could not be saved here.";
    });
  }

  function button(format) {
    return {
      name: "Save this chart as " + format.toUpperCase(),
      icon: function () {
        return Object.assign(document.createElement("small"), { textContent: format.toUpperCase() });
      },
      click: function (plot) { save(plot, format); }
    };
  }

  return { buttons: ["png", "svg"].map(button) };
})();
