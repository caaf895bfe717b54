/** How old the newest data of a job without an end are; after half an hour the job counts as ended. */
import { first } from "./dom.js";

const SILENT_MIN = 30;

const state = first(".rg-state[data-until]");
const said = state && first("dd", state);
if (state && said) {
  const minutes = Math.floor((Date.now() - Date.parse(state.dataset.until ?? "")) / 60_000);
  const ages = { days: minutes / 1440, h: minutes / 60, min: minutes };
  const [unit, age] = Object.entries(ages).find(([, value]) => value >= 2) ?? [];
  if (unit) first(".rg-unbroken", said)?.after(` (${Math.floor(Number(age))} ${unit} ago)`);
  if (minutes > SILENT_MIN) {
    /** @type {Text} */ (said.firstChild).data = "ended without notice, data until ";
    first("small", said)?.remove();
  }
}
