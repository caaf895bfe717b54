/** How the reader wants the page: light or dark, times in UTC or in the browser's zone. */
import { repaint } from "./charts.js";
import { byId, first } from "./dom.js";
import { remember, remembered } from "./storage.js";
import { showZone } from "./times.js";
import { zoneAt } from "./zones.js";

const root = document.documentElement;
const darkness = matchMedia("(prefers-color-scheme: dark)");
const theme = /** @type {HTMLSelectElement} */ (byId("rg-theme"));
const zone = /** @type {HTMLSelectElement} */ (byId("rg-zone"));

/* The reader's choice, else that of the command, else the system's. */
theme.value = root.dataset.theme ?? "auto";
theme.addEventListener("change", () => {
  if (theme.value === "auto") delete root.dataset.theme;
  else root.dataset.theme = theme.value;
  remember("theme", theme.value);
  repaint();
});
darkness.addEventListener("change", repaint);

zone.options[1].textContent = `local (${zoneAt(Date.now())})`;
zone.addEventListener("change", () => {
  remember("zone", zone.value);
  showZone(zone.value === "local");
});

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

export const turnZone = () => choose(zone, zone.value === "utc" ? "local" : "utc");

if (remembered("zone") === "local") turnZone();
const settings = first(".rg-settings");
if (settings) settings.hidden = false;
