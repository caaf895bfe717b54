/** What the page has beside its modules: plotly, unpacked when the first chart needs it. */
interface Window {
  Plotly: any;
}
