/** What the page has beside its modules: scripts that are unpacked when they are first needed. */
interface Window {
  Plotly: any;
  /** What lanes.js gives, when it was unpacked. */
  reportLanes: any;
}
