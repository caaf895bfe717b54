/* The table of many jobs: sorted, filtered, grouped in the reader's browser. The rows come packed;
   of any number of them a few hundred are in the page. */
(() => {
  "use strict";
  const AT_ONCE = 200;
  const table = document.getElementById("jobs");
  const body = table.tBodies[0];
  const tools = document.querySelector(".rgi-tools");
  const more = document.querySelector(".rgi-more");
  const count = document.querySelector(".rgi-count");
  const heads = Array.from(table.tHead.rows[0].cells);
  const columns = heads.map((head) => ({
    name: head.dataset.name,
    title: head.textContent,
    isNumber: head.classList.contains("rg-num"),
    isShown: true
  }));
  const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
  let jobs = [];
  let found = [];
  let sorted = { name: "wasted_gpu_hours", sign: -1 };
  let nShown = AT_ONCE;

  async function read() {
    const letters = atob(document.getElementById("index-data").textContent);
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const { names, rows } = await new Response(stream).json();
    return rows.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at]])));
  }

  function inOrder(a, b) {
    return a < b ? -1 : a > b ? 1 : 0;
  }

  function compare(one, other) {
    const [a, b] = [one[sorted.name], other[sorted.name]];
    if (a === b) return inOrder(other.created || "", one.created || "") || inOrder(one.job, other.job);
    if (a === null || a === "" || a === undefined) return 1;
    if (b === null || b === "" || b === undefined) return -1;
    return (a < b ? -1 : 1) * sorted.sign;
  }

  function matches(job, wanted) {
    const text = wanted.text.trim().toLowerCase();
    const day = (job.created || "").slice(0, 10);
    return (
      (!wanted.status || job.status === wanted.status) &&
      (!wanted.cause || job.top_cause === wanted.cause) &&
      (!wanted.from || day >= wanted.from) &&
      (!wanted.to || (day && day <= wanted.to)) &&
      (!text || [job.job, job.top_finding, job.path, job.problem].some((it) => it.toLowerCase().includes(text)))
    );
  }

  function grouped(rows) {
    const groups = new Map();
    for (const job of rows) {
      if (!groups.has(job.group)) groups.set(job.group, []);
      groups.get(job.group).push(job);
    }
    return Array.from(groups, ([name, its]) => {
      const latest = its.reduce((a, b) => ((a.created || "") > (b.created || "") ? a : b));
      const total = (key) => its.reduce((sum, job) => sum + (job[key] || 0), 0);
      const trend = its
        .filter((job) => job.created && job.step_p50_s)
        .sort((a, b) => (a.created < b.created ? -1 : 1))
        .map((job) => job.step_p50_s);
      return {
        ...latest,
        job: its.length === 1 ? latest.job : `${name} (${its.length} jobs)`,
        duration_s: total("duration_s"),
        wasted_gpu_hours: total("wasted_gpu_hours"),
        wasted_usd: its.some((job) => job.wasted_usd !== null) ? total("wasted_usd") : null,
        trend
      };
    });
  }

  function sparkline(values) {
    const low = Math.min(...values);
    const reach = Math.max(...values) - low || 1;
    const points = values.map((value, at) => {
      const x = 2 + (116 * at) / Math.max(values.length - 1, 1);
      return `${x.toFixed(1)} ${(22 - (20 * (value - low)) / reach).toFixed(1)}`;
    });
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    svg.setAttribute("class", "rgi-trend");
    svg.setAttribute("viewBox", "0 0 120 24");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `Step time from ${number.format(values[0])} s to ${number.format(values.at(-1))} s`);
    path.setAttribute("d", `M${points.join("L")}`);
    svg.append(path);
    return svg;
  }

  function duration(time_s) {
    if (time_s < 1) return `${number.format(time_s * 1000)} ms`;
    if (time_s < 120) return `${number.format(time_s)} s`;
    const minutes = Math.round(time_s / 60);
    return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
  }

  function shown(job, column) {
    const value = job[column.name];
    if (value === null || value === undefined || value === "") return "–";
    if (column.name.endsWith("_s") && !column.name.endsWith("_per_s")) return duration(value);
    if (column.name === "created") return value.slice(0, 16).replace("T", " ");
    return column.isNumber ? number.format(value) : value;
  }

  function cell(job, column) {
    const made = document.createElement("td");
    if (column.isNumber) made.className = "rg-num";
    if (column.name === "job" && job.page) {
      const link = document.createElement("a");
      link.href = job.page;
      link.textContent = job.job;
      made.append(link);
    } else if (column.name === "top_finding") {
      made.className = "rgi-text";
      const dot = document.createElement("span");
      dot.className = `rgi-dot rgi-${job.top_severity || "none"}`;
      dot.setAttribute("aria-hidden", "true");
      if (job.top_severity) made.append(dot);
      made.append(job.problem || (job.top_finding ? `${job.top_severity}: ${job.top_finding}` : "–"));
    } else {
      made.textContent = shown(job, column);
    }
    if (column.name === "step_p50_s" && job.trend && job.trend.length > 1) made.append(sparkline(job.trend));
    return made;
  }

  function draw() {
    const rows = found.slice(0, nShown).map((job) => {
      const row = document.createElement("tr");
      row.append(...columns.filter((column) => column.isShown).map((column) => cell(job, column)));
      return row;
    });
    body.replaceChildren(...rows);
    heads.forEach((head, at) => {
      head.hidden = !columns[at].isShown;
      const isSorted = columns[at].name === sorted.name;
      head.setAttribute("aria-sort", isSorted ? (sorted.sign > 0 ? "ascending" : "descending") : "none");
    });
    more.hidden = found.length <= nShown;
    const hours = found.reduce((sum, job) => sum + (job.wasted_gpu_hours || 0), 0);
    count.textContent = `${found.length.toLocaleString("en")} shown, ${number.format(hours)} GPU hours without work`;
  }

  function update() {
    const wanted = Object.fromEntries(new FormData(tools));
    const kept = jobs.filter((job) => matches(job, wanted));
    found = (wanted.grouped ? grouped(kept) : kept).sort(compare);
    nShown = AT_ONCE;
    draw();
  }

  function choices(name, key) {
    const values = Array.from(new Set(jobs.map((job) => job[key]).filter(Boolean))).sort();
    tools.elements[name].append(...values.map((value) => new Option(value, value)));
  }

  function listen() {
    heads.forEach((head, at) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const { name, isNumber } = columns[at];
        sorted = { name, sign: sorted.name === name ? -sorted.sign : isNumber || name === "created" ? -1 : 1 };
        update();
      });
    });
    const boxes = document.querySelector(".rgi-columns > div");
    for (const column of columns.slice(1)) {
      const label = document.createElement("label");
      const box = document.createElement("input");
      box.type = "checkbox";
      box.checked = true;
      box.addEventListener("change", () => {
        column.isShown = box.checked;
        draw();
      });
      label.append(box, column.title);
      boxes.append(label);
    }
    tools.addEventListener("input", update);
    tools.addEventListener("submit", (event) => event.preventDefault());
    more.addEventListener("click", () => {
      nShown += AT_ONCE * 5;
      draw();
    });
  }

  read().then((rows) => {
    jobs = rows;
    choices("status", "status");
    choices("cause", "top_cause");
    listen();
    tools.hidden = false;
    update();
  });
})();
