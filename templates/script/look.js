/** How the reader wants the page: light or dark. */
import { repaint } from "./charts.js";
import { byId, first } from "./dom.js";
import { remember } from "./storage.js";

const root = document.documentElement;
const darkness = matchMedia("(prefers-color-scheme: dark)");
const theme = /** @type {HTMLSelectElement} */ (byId("rg-theme"));

/* The reader's choice, else that of the command, else the system's. */
theme.value = root.dataset.theme ?? "auto";
theme.addEventListener("change", () => {
  if (theme.value === "auto") delete root.dataset.theme;
  else root.dataset.theme = theme.value;
  remember("theme", theme.value);
  repaint();
});
darkness.addEventListener("change", repaint);

/**
 * @param {HTMLSelectElement} select
 * @param {string} value
 */
function choose(select, value) {
  select.value = value;
  select.dispatchEvent(new Event("change"));
}

export function turnTheme() {
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : darkness.matches;
  choose(theme, isDark ? "light" : "dark");
}

const settings = first(".rg-settings");
if (settings) settings.hidden = false;
