/** The legend of a histogram: a click on a name hides its bars, another one shows them again. */
import { all, make } from "./dom.js";

/** @param {HTMLElement} keys */
function makeSwitches(keys) {
  const histogram = keys.closest(".rg-keyed")?.querySelector(".rg-histogram");
  const groups = histogram ? all("svg > g", histogram) : [];
  all(":scope > li", keys).forEach((key, at) => {
    const button = make("button", { type: "button", "aria-pressed": "true" }, ...key.childNodes);
    button.addEventListener("click", () => {
      const isShown = button.getAttribute("aria-pressed") === "false";
      button.setAttribute("aria-pressed", String(isShown));
      groups[at].style.display = isShown ? "" : "none";
    });
    key.append(button);
  });
}

all(".rg-keys").forEach(makeSwitches);
