/** One zoom for the lanes and for the charts over the job's time (range.js): each moves the other. */
import { setView, stage } from "./lane_stage.js";

const REST_MS = 120;

/** The time axis of the page. @type {{unix: boolean} | null} */
const facts = JSON.parse(document.querySelector(".rg-timeline-facts")?.textContent ?? "null");
/** The view that both show. */
let shared = stage.view;
let isTelling = false;
let resting = 0;

/** The clock of the charts, s, at the zero of the lanes; `undefined` where they have different clocks. */
function zero_s() {
  const { is_unix, start_ns } = stage.file.header;
  return facts?.unix === is_unix ? Number(start_ns) / 1e9 : undefined;
}

/** Follows the charts. */
export function linkCharts() {
  const zero = zero_s();
  shared = stage.view;
  if (zero === undefined) return;
  document.addEventListener("rg:range", (event) => {
    if (isTelling) return;
    const range = /** @type {CustomEvent<[number, number] | null>} */ (event).detail;
    const [from, to] = range?.map((time_s) => (time_s - zero) * 1e9) ?? [0, stage.file.header.length_ns];
    setView(from, to);
    shared = stage.view;
  });
}

/** Zooms the charts to the view when it has come to rest. */
export function tellCharts() {
  clearTimeout(resting);
  resting = setTimeout(() => {
    const { view, target } = stage;
    const zero = zero_s();
    if (zero === undefined || target || (view.from === shared.from && view.to === shared.to)) return;
    shared = view;
    isTelling = true;
    const detail = [zero + view.from / 1e9, zero + view.to / 1e9];
    document.dispatchEvent(new CustomEvent("rg:zoom", { detail }));
    isTelling = false;
  }, REST_MS);
}
