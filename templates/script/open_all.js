/** The button that opens everything that is folded but code, and folds it again. */
import { byId } from "./dom.js";
import { allFolds } from "./folds.js";

const button = byId("rg-all");
const folds = allFolds().filter((fold) => !fold.matches(".rg-code"));

if (button) button.hidden = !folds.length;
button?.addEventListener("click", () => {
  const isOpen = folds.every((fold) => fold.open || !fold.isConnected);
  for (const fold of folds) fold.open = !isOpen;
  button.textContent = isOpen ? "Open all" : "Fold all";
});
