/** How the reader wants the page: light or dark. */
import { repaint } from "./charts.js";
import { byId, first } from "./dom.js";

const root = document.documentElement;
const theme = /** @type {HTMLSelectElement} */ (byId("rg-theme"));

/* The reader's choice, else that of the command, else the system's. */
theme.value = root.dataset.theme ?? "auto";
theme.addEventListener("change", () => {
  if (theme.value === "auto") delete root.dataset.theme;
  else root.dataset.theme = theme.value;
  try {
    localStorage.setItem("reportgen-theme", theme.value);
  } catch {
    /* A page opened from a file may have no storage: the choice lasts as long as the page. */
  }
  repaint();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);

const settings = first(".rg-settings");
if (settings) settings.hidden = false;
