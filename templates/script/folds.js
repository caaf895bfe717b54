/** Folds. The content of a closed fold waits in a noscript element, which is one text to this browser;
 * it is put in place when the fold opens. */
import { all, byId, first, make } from "./dom.js";

/**
 * The elements of a piece of HTML that waits as text.
 * @param {string} html
 * @returns {DocumentFragment}
 */
export const parsed = (html) => make("template", { innerHTML: html }).content;

/** Paper shows what is open; with `?print=all` also what is folded. */
export const printsAll = new URLSearchParams(location.search).get("print") === "all";

/** @param {Element} fold */
const waitingIn = (fold) => first(":scope > noscript", fold);

/** @returns {HTMLDetailsElement[]} */
export const allFolds = () => /** @type {HTMLDetailsElement[]} */ (all("main details"));

/** @param {Element} fold */
export function unfold(fold) {
  const waiting = waitingIn(fold);
  if (!waiting) return;
  waiting.replaceWith(parsed(waiting.textContent ?? ""));
  fold.dispatchEvent(new CustomEvent("rg-unfolded", { bubbles: true }));
}

/** @param {HTMLDetailsElement} fold */
export function openFold(fold) {
  unfold(fold);
  fold.open = true;
}

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
  const leaveOut = /** @type {HTMLInputElement | null} */ (
    pane.parentElement?.querySelector(".rg-choices-switch")
  );
  const isWhole = Boolean(target.closest(".rg-pane-all"));
  if (leaveOut && (isWhole || target.closest(".rg-pane-rest"))) leaveOut.checked = !isWhole;
}

/**
 * The element of that id; the folds that hold it are opened.
 * @param {string} id
 */
export function reveal(id) {
  if (!byId(id)) {
    const holder = allFolds().find((fold) => waitingIn(fold)?.textContent?.includes(`id="${id}"`));
    if (holder) unfold(holder);
  }
  const target = byId(id);
  if (!target) return null;
  const topic = /** @type {HTMLDetailsElement | null} */ (first(":scope > .rg-topic", target));
  if (topic) openFold(topic);
  for (let fold = target.closest("details"); fold; fold = fold.parentElement?.closest("details") ?? null) {
    openFold(fold);
  }
  showPaneOf(target);
  return target;
}

function followHash() {
  let id = "";
  try {
    id = decodeURIComponent(location.hash.slice(1));
  } catch {
    /* A link that was cut short. */
  }
  if (id) reveal(id)?.scrollIntoView();
}

document.addEventListener(
  "toggle",
  ({ target }) => {
    if (target instanceof HTMLDetailsElement && target.open) unfold(target);
  },
  true
);
addEventListener("hashchange", followHash);
followHash();
