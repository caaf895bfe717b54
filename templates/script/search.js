/** Search: a list of places to jump to. */
import { all, first, make } from "./dom.js";
import { parsed, reveal } from "./folds.js";
import { hitsOf } from "./hits.js";
import { oneLine, wordsOf } from "./texts.js";

/** @typedef {import("./hits.js").Place} Place */

const MOST = 40;
const LABEL = "Search the report";

/** @type {Place[]} */
let places = [];
/** @type {import("./hits.js").Hit[]} */
let found = [];
let chosen = 0;

/**
 * All text of an element, also what waits in its folds.
 * @param {Element} element
 */
function textWithFolds(element) {
  const copy = /** @type {Element} */ (element.cloneNode(true));
  all("script, .rg-plot, .rg-tools, .rg-anchor", copy).forEach((node) => node.remove());
  all("noscript", copy).forEach((node) => node.replaceWith(parsed(node.textContent ?? "")));
  return oneLine(parsed(copy.innerHTML.replace(/<[^>]*>/g, " ")).textContent ?? "");
}

/**
 * @param {ParentNode} root
 * @param {string} section
 * @returns {Place[]}
 */
const placesIn = (root, section) =>
  all("article[id], figure[id]", root).map((element) => {
    const title = first("h3", element);
    const kind = element.matches("article") ? "Finding" : element.matches(".chart") ? "Chart" : "Table";
    const text = textWithFolds(element);
    return { id: element.id, title: title ? wordsOf(title) : element.id, kind, where: section, text };
  });

/**
 * @param {HTMLElement} section
 * @returns {Place[]}
 */
function placesOfSection(section) {
  const heading = first("h1, h2", section);
  if (!heading) return [];
  const links = /** @type {HTMLAnchorElement[]} */ (all(".rg-side a"));
  const entry = links.find(({ hash }) => hash === `#${section.id}`);
  const title = wordsOf((entry && first(".rg-entry", entry)) ?? heading);
  const lead = first(".rg-lead, .rg-verdict", section);
  const folded = all("noscript", section).flatMap((node) => placesIn(parsed(node.textContent ?? ""), title));
  const own = { id: section.id, title, kind: "Section", where: "", text: lead ? wordsOf(lead) : "" };
  return [own, ...placesIn(section, title), ...folded];
}

const list = make("ul", { id: "rg-found", role: "listbox", "aria-label": "Places found" });
const said = make("p", { className: "rg-count", role: "status" });
const box = make("input", {
  type: "search",
  placeholder: "Section, finding, chart, table, node, operator …",
  autocomplete: "off",
  role: "combobox",
  "aria-label": LABEL,
  "aria-controls": "rg-found",
  "aria-autocomplete": "list"
});
const dialog = make("dialog", { className: "rg-dialog rg-search", "aria-label": LABEL }, box, list, said);

function markChosen() {
  [...list.children].forEach((item, at) => {
    item.setAttribute("aria-selected", String(at === chosen));
    if (at === chosen) item.scrollIntoView({ block: "nearest" });
  });
  if (found.length) box.setAttribute("aria-activedescendant", `rg-found-${chosen}`);
  else box.removeAttribute("aria-activedescendant");
}

/**
 * @param {import("./hits.js").Hit} hit
 * @param {number} at
 */
function item({ place, note }, at) {
  const kind = make("span", { className: "rg-kind", textContent: place.kind });
  const title = make("span", { className: "rg-hit", textContent: place.title });
  const made = make("li", { id: `rg-found-${at}`, role: "option" }, kind, title);
  if (note) made.append(make("small", { textContent: note }));
  made.addEventListener("click", () => {
    chosen = at;
    goToChosen();
  });
  return made;
}

function showHits() {
  const hits = hitsOf(places, box.value);
  found = hits.slice(0, MOST);
  chosen = 0;
  list.replaceChildren(...found.map(item));
  list.hidden = !found.length;
  said.textContent = hits.length ? `${hits.length} ${hits.length === 1 ? "place" : "places"}` : "Nothing found.";
  box.setAttribute("aria-expanded", String(found.length > 0));
  markChosen();
}

function goToChosen() {
  const hit = found[chosen];
  if (!hit) return;
  dialog.close();
  if (location.hash !== `#${hit.place.id}`) location.hash = `#${hit.place.id}`;
  else reveal(hit.place.id)?.scrollIntoView();
}

box.addEventListener("input", showHits);
box.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && found.length) {
    chosen = (chosen + step + found.length) % found.length;
    markChosen();
  } else if (event.key === "Enter") goToChosen();
  else return;
  event.preventDefault();
});
dialog.addEventListener("click", ({ target }) => {
  if (target === dialog) dialog.close();
});

export function openSearch() {
  document.body.append(dialog);
  places = all("main section[id]").flatMap(placesOfSection);
  box.value = "";
  dialog.showModal();
  showHits();
  box.focus();
}
