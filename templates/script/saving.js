/** Charts as files: two buttons in plotly's own bar, PNG and SVG, with the title of the chart. */
import { first, make } from "./dom.js";
import { announce } from "./texts.js";

const TITLE_PX = 52;

/** @param {Element} figure */
const fileNameOf = (figure) =>
  `${document.title.slice(0, 60)}-${figure.id}`.replace(/[^A-Za-z0-9._]+/g, "-").replace(/^-/, "");

/**
 * @param {Element} figure
 * @param {any} plot
 * @param {{width: number, height: number}} size
 */
function titled(figure, plot, size) {
  const style = getComputedStyle(document.documentElement);
  const title = first("figcaption h3", figure)?.textContent ?? "";
  return {
    ...plot.layout,
    ...size,
    autosize: false,
    paper_bgcolor: style.getPropertyValue("--rg-surface").trim(),
    title: {
      text: title.replace(/&/g, "&amp;").replace(/</g, "&lt;"),
      x: 0,
      xref: "paper",
      y: 0.98,
      yanchor: "top",
      font: { size: 15, color: style.getPropertyValue("--rg-text").trim() }
    },
    margin: { ...plot.layout.margin, t: (plot.layout.margin?.t || 8) + TITLE_PX }
  };
}

/**
 * @param {any} plot
 * @param {"png" | "svg"} format
 */
async function save(plot, format) {
  const figure = plot.closest("figure");
  const size = { width: plot.clientWidth, height: plot.clientHeight + TITLE_PX };
  const options = { format, filename: fileNameOf(figure), scale: format === "png" ? 2 : 1, ...size };
  try {
    await window.Plotly.downloadImage({ data: plot.data, layout: titled(figure, plot, size) }, options);
  } catch {
    announce("The chart could not be saved here.");
  }
}

/** @param {"png" | "svg"} format */
const button = (format) => ({
  name: `Save this chart as ${format.toUpperCase()}`,
  icon: () => make("small", { textContent: format.toUpperCase() }),
  click: (/** @type {any} */ plot) => save(plot, format)
});

/** The buttons as plotly's configuration takes them. */
export const savingButtons = [button("png"), button("svg")];
