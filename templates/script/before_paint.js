/* Runs before the first paint: says that scripts run, and applies the reader's choice of theme. */
{
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const chosen = localStorage.getItem("reportgen-theme");
    if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
    else if (chosen === "auto") delete root.dataset.theme;
  } catch {
    /* See look.js. */
  }
}
