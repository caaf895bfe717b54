/** Navigation: a mark at the section in view. */
import { all, byId, first } from "./dom.js";

const READING_LINE_RATIO = 0.25;

const links = /** @type {HTMLAnchorElement[]} */ (all(".rg-nav a[href^='#']"));
const idOf = (/** @type {HTMLAnchorElement} */ { hash }) => decodeURIComponent(hash.slice(1));
const sections = [...new Set(links.map(idOf))].map(byId).filter((section) => section !== null);
let current = sections[0];
/** The section that a link led to: it is marked until the reader scrolls, however short it is.
 * @type {HTMLElement | null} */
let linked = null;

function markCurrent() {
  const isAtEnd = innerHeight + scrollY >= document.body.scrollHeight - 2;
  const line_px = innerHeight * READING_LINE_RATIO;
  const passed = sections.filter((section) => section.getBoundingClientRect().top <= line_px);
  current = linked ?? (isAtEnd ? sections.at(-1) : passed.at(-1)) ?? sections[0];
  for (const link of links) {
    if (current && idOf(link) === current.id) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

/* The menu of a phone closes after a choice. */
const menu = /** @type {HTMLDetailsElement | null} */ (first(".rg-menu"));
menu?.addEventListener("click", ({ target }) => {
  if (/** @type {Element} */ (target).closest("a")) menu.open = false;
});

function followLink() {
  const target = byId(decodeURIComponent(location.hash.slice(1)));
  linked = sections.find((section) => section === target) ?? null;
  markCurrent();
}
addEventListener("hashchange", followLink);
for (const link of links) link.addEventListener("click", () => setTimeout(followLink));
for (const kind of ["wheel", "touchmove", "keydown"]) {
  addEventListener(
    kind,
    () => {
      linked = null;
    },
    { passive: true }
  );
}

let isWaiting = false;
addEventListener(
  "scroll",
  () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      markCurrent();
    });
  },
  { passive: true }
);
markCurrent();
