/** Print: light, and all charts that are open, as wide as a sheet. */
import { drawAll, figures, fitSheet, isAwake, repaint } from "./charts.js";

const WIDTH_PX = 650;
const PANEL_WIDTH_PX = 300;

/** @type {string | undefined} */
let given;

addEventListener("beforeprint", () => {
  given = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
  drawAll();
  repaint();
  if (!window.Plotly) return;
  for (const figure of figures.filter(isAwake)) {
    fitSheet(figure, figure.closest(".rg-panel") ? PANEL_WIDTH_PX : WIDTH_PX);
  }
});

addEventListener("afterprint", () => {
  if (given) document.documentElement.dataset.theme = given;
  else delete document.documentElement.dataset.theme;
  repaint();
});
