/** Shortcuts: one list for the keys and for the help; they can be switched off (WCAG 2.1.4). */
import { all, byId, make } from "./dom.js";
import { turnTheme } from "./look.js";
import { goBy } from "./navigation.js";
import { remember, remembered } from "./storage.js";

/** @type {[string, string, () => void][]} */
const SHORTCUTS = [
  ["j", "Next section", () => goBy(1)],
  ["k", "Previous section", () => goBy(-1)],
  ["o", "Open or fold all sections", turnAll],
  ["t", "Light or dark", turnTheme],
  ["?", "This list", openHelp]
];
const topics = /** @type {HTMLDetailsElement[]} */ (all(".rg-topic, .rg-more"));
const allButton = byId("rg-all");
let areKeysOn = remembered("keys") !== "off";
/** @type {HTMLDialogElement | null} */
let help = null;

/* All folded sections and what waits in them, opened together and folded together. */
function turnAll() {
  const areOpen = topics.every((topic) => topic.open);
  for (const topic of topics) topic.open = !areOpen;
  if (allButton?.firstChild) allButton.firstChild.textContent = areOpen ? "Open all " : "Fold all ";
}

function builtHelp() {
  const rows = SHORTCUTS.map(([key, what]) =>
    make("div", {}, make("dt", {}, make("kbd", {}, key)), make("dd", {}, what))
  );
  const box = make("input", { type: "checkbox", checked: areKeysOn });
  box.addEventListener("change", () => {
    areKeysOn = box.checked;
    remember("keys", areKeysOn ? "on" : "off");
  });
  const label = make("label", {}, box, make("span", {}, "Use these keys"));
  const close = make("button", { type: "button" }, "Close");
  const title = make("h2", { id: "rg-help-title" }, "Keyboard shortcuts");
  const foot = make("div", { className: "rg-help-foot" }, label, close);
  const names = { className: "rg-dialog rg-help", "aria-labelledby": "rg-help-title" };
  const dialog = make("dialog", names, title, make("dl", {}, ...rows), foot);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog) dialog.close();
  });
  document.body.append(dialog);
  return dialog;
}

function openHelp() {
  help ??= builtHelp();
  help.showModal();
}

addEventListener("keydown", (event) => {
  const typing = "input, select, textarea, [contenteditable], dialog";
  const isTyping = event.target instanceof Element && event.target.closest(typing);
  if (!areKeysOn || isTyping || event.ctrlKey || event.altKey || event.metaKey) return;
  const known = SHORTCUTS.find(([key]) => key === event.key);
  if (!known) return;
  event.preventDefault();
  known[2]();
});

byId("rg-help")?.addEventListener("click", openHelp);
if (allButton) allButton.hidden = !topics.length;
allButton?.addEventListener("click", turnAll);
