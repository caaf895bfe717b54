/* Runs before the first paint: says that scripts run, and applies the reader's choice of theme. */
(function () {
  var root = document.documentElement;
  root.classList.add("js");
  root.dataset.themeGiven = root.dataset.theme || "auto";
  try {
    var chosen = localStorage.getItem("reportgen-theme");
    if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
    else if (chosen === "auto") delete root.dataset.theme;
  } catch (error) {
    /* Pages opened from a file may have no storage: the choice then lasts as long as the page. */
  }
})();
