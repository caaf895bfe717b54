/* The lanes of the timeline wait packed, with the script that draws them, until they come near the window or a finding
   asks for its place in them. Uses `reportCharts`. Gives `reportLanesSoon`. */
const reportLanesSoon = (() => {
  "use strict";
  const figure = document.getElementById("timeline-lanes");
  let asked = null;
  const wake = () => asked = asked || reportCharts.textOf(document.getElementById("lanes-gz")).then((text) => {
    const script = document.createElement("script");
    script.textContent = text;
    document.head.append(script);
    return reportLanes.wake();
  });
  document.querySelectorAll(".rg-show").forEach((link) => {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      wake().then(() => reportLanes.show(link.dataset), () => figure.scrollIntoView());
    });
  });
  if (figure) {
    new IntersectionObserver((entries, watcher) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      watcher.disconnect();
      wake().catch(() => {}); /* It says on the page what is wrong. */
    }, { rootMargin: "200px 0px" }).observe(figure);
  }
  return { wake };
})();
