/** Print: light, and all charts that are open, as wide as a sheet. With `?print=all` the folds open,
 * but for the numbers of drawn charts. */
import { drawAll, figures, fitSheet, isAwake, repaint } from "./charts.js";
import { allFolds, openFold, printsAll } from "./folds.js";

const WIDTH_PX = 650;
const PANEL_WIDTH_PX = 300;

/** @type {{theme: string | undefined, folds: HTMLDetailsElement[]} | null} */
let before = null;

/** @param {HTMLDetailsElement} fold */
const opens = (fold) =>
  printsAll && !fold.open && !fold.matches(".rg-code") && !fold.matches("[data-drawn] > .rg-data");

/* Twice: folds wait within folds. */
function openedFolds() {
  return [1, 2].flatMap(() => {
    const folds = allFolds().filter(opens);
    folds.forEach(openFold);
    return folds;
  });
}

addEventListener("beforeprint", () => {
  before = { theme: document.documentElement.dataset.theme, folds: openedFolds() };
  document.documentElement.dataset.theme = "light";
  drawAll();
  repaint();
  if (!window.Plotly) return;
  for (const figure of figures.filter(isAwake)) {
    fitSheet(figure, figure.closest(".rg-panel") ? PANEL_WIDTH_PX : WIDTH_PX);
  }
});

addEventListener("afterprint", () => {
  if (before === null) return;
  if (before.theme) document.documentElement.dataset.theme = before.theme;
  else delete document.documentElement.dataset.theme;
  for (const fold of before.folds) fold.open = false;
  before = null;
  repaint();
});
