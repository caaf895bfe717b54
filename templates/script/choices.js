/** Many views of one thing: a search among their names, of which a few are shown at once. */
import { all, first, make } from "./dom.js";
import { announce, wordsIn } from "./texts.js";

const SEARCH_FROM_NAMES = 13;
const NAMES_AT_ONCE = 12;

/** @param {HTMLElement} choices */
function offerSearch(choices) {
  const radios = /** @type {HTMLInputElement[]} */ (all(':scope > input[type="radio"]', choices));
  if (radios.length < SEARCH_FROM_NAMES) return;
  const count = make("span", { className: "rg-choices-ask" });
  const box = make("input", {
    type: "search",
    className: "rg-filter",
    placeholder: "Search names",
    "aria-label": `Search: ${choices.getAttribute("aria-label")}`
  });
  /** @returns {HTMLInputElement[]} */
  const found = () => {
    const asked = wordsIn(box.value);
    return radios.filter(({ labels }) => {
      const text = (labels?.[0].textContent ?? "").toLowerCase();
      return asked.every((word) => text.includes(word));
    });
  };
  const update = () => {
    const fitting = found();
    const shown = new Set(fitting.slice(0, NAMES_AT_ONCE));
    for (const radio of radios) radio.disabled = !shown.has(radio) && !radio.checked;
    const nShown = Math.min(NAMES_AT_ONCE, fitting.length).toLocaleString("en");
    count.textContent = `${nShown} of ${fitting.length.toLocaleString("en")} names`;
  };
  box.addEventListener("input", () => {
    update();
    announce(count.textContent ?? "");
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter") found()[0]?.click();
    if (event.key === "Escape" && box.value) {
      event.stopPropagation();
      box.value = "";
      update();
    }
  });
  choices.addEventListener("change", update);
  first(":scope > .rg-choices-ask", choices)?.after(make("span", { className: "rg-tools" }, box, count));
  update();
}

all(".rg-choices").forEach(offerSearch);
