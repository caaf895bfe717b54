/** The lanes of the timeline wait packed, with the script that draws them (lanes.js), until they come
 * near the window or a finding asks for its place in them. */
import { all, byId, make } from "./dom.js";
import { textOf } from "./packing.js";

const lanes = byId("timeline-lanes");
/** @type {Promise<void> | null} */
let fetched = null;

async function fetchScript() {
  const packed = byId("lanes-gz");
  if (!packed) return;
  document.head.append(make("script", { textContent: await textOf(packed) }));
  await window.reportLanes.wake();
}

function wakeLanes() {
  fetched = fetched ?? fetchScript();
  return fetched;
}

for (const link of all(".rg-show")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    wakeLanes().then(() => window.reportLanes.show(link.dataset), () => lanes?.scrollIntoView());
  });
}
if (lanes) {
  const watcher = new IntersectionObserver((entries) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
    watcher.disconnect();
    /* It says on the page what is wrong. */
    wakeLanes().catch(() => {});
  }, { rootMargin: "200px 0px" });
  watcher.observe(lanes);
}
