/** Folds: a link to something in a fold, or to a folded section, opens it. */
import { all, byId, first } from "./dom.js";

/** @returns {HTMLDetailsElement[]} */
export const allFolds = () => /** @type {HTMLDetailsElement[]} */ (all("main details"));

/**
 * Of views of which one is shown, shows the one that holds an element.
 * @param {Element} target
 */
function showPaneOf(target) {
  const pane = target.closest(".rg-pane");
  const label = /** @type {HTMLLabelElement | null} */ (pane?.previousElementSibling);
  if (!pane || !label) return;
  const choice = /** @type {HTMLInputElement | null} */ (byId(label.htmlFor));
  if (choice) choice.checked = true;
}

function followHash() {
  let id = "";
  try {
    id = decodeURIComponent(location.hash.slice(1));
  } catch {
    /* A link that was cut short. */
  }
  const target = id && byId(id);
  if (!target) return;
  const topic = /** @type {HTMLDetailsElement | null} */ (first(":scope > .rg-topic", target));
  if (topic) topic.open = true;
  for (let fold = target.closest("details"); fold; fold = fold.parentElement?.closest("details") ?? null) {
    fold.open = true;
  }
  showPaneOf(target);
  target.scrollIntoView();
}

addEventListener("hashchange", followHash);
followHash();
