/* The lanes of the timeline: a canvas of strips from host to device, with zoom, search, arrows and the details of a
   strip. Comes to a page packed (lanes_soon.js). Uses `reportLaneFile`, `reportCharts`. Gives `reportLanes`. */
const reportLanes = (() => {
  "use strict";
  const file = reportLaneFile, figure = document.getElementById("timeline-lanes");
  const part = (name) => figure.querySelector(".rg-lanes-" + name);
  const canvas = part("canvas"), box = part("box"), tip = part("tip"), panel = part("details"), said = part("said");
  const stepBox = part("step"), query = part("query"), count = part("count"), table = part("table");
  const context = canvas.getContext("2d"), texture = document.createElement("canvas").getContext("2d");
  const calm = matchMedia("(prefers-reduced-motion: reduce)"), finger = matchMedia("(pointer: coarse)");
  const OVERVIEW = 16, AXIS = 24, DETAIL = 7, TOP = OVERVIEW + AXIS + DETAIL, ROW = 17, LEAST_NS = 200, NARROW = 600;
  const MOST_ROWS = 200, MOST_MINI = 6, MOST_ARROWS = 150, LEVELS = 6, CLICK_PX = 4;
  const SHADES = [[0, 0], [0, 0.25], [255, 0.22], [0, 0.42], [255, 0.4]];
  const RUNTIME = /^(cuda|hip|cu[A-Z]|Runtime)/;
  const FAMILIES = { compute: "gpu", communication: "network", copies: "gpu-memory", operators: "cpu", runtime: "other",
    annotations: "step", phases: "start", functions: "memory", findings: "critical" };
  const OF_KIND = { steps: "annotations", annotations: "annotations", phases: "phases", functions: "functions", findings: "findings" };

  let data = null, lanes = [], names = [], details = [], steps = [], woken = null, palette = null, plan = null;
  let view = { from: 0, to: 1 }, target = null, scroll = 0, hover = null, cursor = null, chosen = null, kin = [];
  let marked = null, hits = null, isDue = false, size = { width: 0, height: 0, gutter: 0, dpr: 1 }, tableTimer = 0;
  const folded = new Set(), broken = new Set(), inks = {}, widths = new Map();

  /* Numbers for people. */
  const digits = (value, most = 4) => Number(value.toPrecision(most)).toLocaleString("en", { maximumFractionDigits: 6 });
  const length = (ns, most = 4) => ns >= 1e9 ? digits(ns / 1e9, most) + " s" : ns >= 1e6 ? digits(ns / 1e6, most) + " ms"
    : ns >= 1e3 ? digits(ns / 1e3, most) + " µs" : digits(ns, most) + " ns";
  const amount = (value, unit) => {
    const at = unit === "bytes" ? Math.min(4, Math.max(0, Math.floor(Math.log10(Math.max(value, 1)) / 3))) : -1;
    return at < 0 ? `${digits(value, 3)} ${unit || ""}` : `${digits(value / 1000 ** at, 3)} ${["bytes", "kB", "MB", "GB", "TB"][at]}`;
  };
  const whole = (value) => Math.round(value).toLocaleString("en");
  const clock = (ns) => {
    const at = BigInt(data.header.start_ns) + BigInt(Math.round(ns));
    return new Date(Number(at / 1000000n)).toISOString().slice(0, 19).replace("T", " ") + "." + String(at % 1000000000n).padStart(9, "0").slice(0, 6) + " UTC";
  };
  const nameOf = (strip) => names[strip.row.name[strip.at]] || "(no name)";
  const short = (text, most = 120) => text.length > most ? text.slice(0, most - 1) + "…" : text;
  const pathOf = (lane) => (lane.parent === null ? "" : pathOf(lanes[lane.parent]) + " › ") + short(lane.label, 60);
  const element = (tag, text, ...inner) => {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    made.append(...inner);
    return made;
  };

  /* Colours: a family by what a strip is, a shade by its name; those of a contrast of 3:1 and more. */
  const light = (hex) => channels(hex).map((c) => c / 255).reduce((sum, c, at) => sum + [0.2126, 0.7152, 0.0722][at] * (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4), 0.05);
  const contrast = (one, other) => { const [a, b] = [light(one), light(other)]; return Math.max(a / b, b / a); };
  const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const mixed = (hex, to, share) => "#" + channels(hex).map((c) => Math.round(c + (to - c) * share).toString(16).padStart(2, "0")).join("");
  const paints = () => {
    const style = getComputedStyle(figure), token = (name) => style.getPropertyValue("--rg-" + name).trim();
    const made = { ground: token("surface"), colours: [], first: {}, n: {} };
    for (const name of ["raised", "line", "grid", "text", "muted", "link"]) made[name] = token(name);
    for (const [family, hue] of Object.entries(FAMILIES)) {
      made.first[family] = made.colours.length;
      for (const [to, share] of SHADES) {
        const fill = mixed(token(hue), to, share), [r, g, b] = channels(fill);
        if (share && contrast(fill, made.ground) < 3) continue;
        made.colours.push({ fill, ink: contrast(fill, "#ffffff") > contrast(fill, "#000000") ? "#ffffff" : "#000000", bits: (b << 16) | (g << 8) | r });
      }
      made.n[family] = made.colours.length - made.first[family];
    }
    return made;
  };
  const familyOf = (lane, name) => OF_KIND[lane.kind]
    || (/nccl|rccl|all_?(reduce|gather|to_?all)|reduce_?scatter|broadcast|c10d/i.test(name) ? "communication"
    : /memcpy|memset/i.test(name) && lane.kind === "stream" ? "copies"
    : lane.kind === "stream" ? "compute" : RUNTIME.test(name) ? "runtime" : "operators");
  const inkOf = (lane, number) => {
    const known = inks[lane.kind] = inks[lane.kind] || new Int16Array(names.length).fill(-1);
    if (known[number] < 0) {
      const name = names[number] || "", family = familyOf(lane, name);
      let hash = 7;
      for (let at = 0; at < Math.min(name.length, 200); at++) hash = (hash * 31 + name.charCodeAt(at)) >>> 0;
      known[number] = palette.first[family] + hash % palette.n[family];
    }
    return known[number];
  };

  /* Where things stand. */
  const span = () => view.to - view.from;
  const plotWidth = () => size.width - size.gutter;
  const xOf = (time) => size.gutter + (time - view.from) / span() * plotWidth();
  const timeOf = (x) => view.from + (x - size.gutter) / plotWidth() * span();
  const streamsOf = (lane) => lanes.filter((item) => item.kind === "stream" && within(item, lane)).slice(0, MOST_MINI);
  const within = (lane, top) => lane === top || (lane.parent !== null && within(lanes[lane.parent], top));
  const heightOf = (lane, isFolded) => (size.gutter ? 0 : 15) + (lane.isGroup ? (isFolded && lane.mini.length ? 26 : size.gutter ? 22 : 4)
    : lane.kind === "counter" ? 34 : isFolded && lane.rows > 1 ? Math.max(20, Math.min(lane.rows, MOST_ROWS) * 3 + 6) : Math.min(Math.max(lane.rows, 1), MOST_ROWS) * ROW + 5);
  const arrange = () => {
    plan = file.layout(lanes, folded, heightOf);
    for (const entry of plan.entries) {
      const { lane, top, height, isFolded } = entry, begin = top + (size.gutter ? 3 : 16);
      if (lane.isGroup) {
        const each = Math.floor(20 / Math.max(lane.mini.length, 1));
        entry.bands = isFolded ? lane.mini.map((inner, at) => ({ lane: inner, depth: 0, y: begin + at * each, height: Math.max(2, each - 1) })) : [];
      } else if (lane.kind === "counter") entry.bands = [];
      else {
        const each = isFolded && lane.rows > 1 ? 3 : ROW;
        entry.bands = Array.from({ length: Math.min(Math.max(lane.rows, 1), MOST_ROWS) }, (_, depth) => ({ lane, depth, y: begin + depth * each, height: each - 1 }));
      }
      entry.bottom = top + height;
    }
    const most = finger.matches ? 1600 : Math.max(260, Math.min(innerHeight * 0.68, 720));
    size.height = Math.round(Math.min(plan.height + TOP + 4, most));
    const isTall = canvas.style.height !== size.height + "px";
    canvas.style.height = size.height + "px";
    if (isTall || canvas.height !== size.height * size.dpr) { canvas.height = Math.round(size.height * size.dpr); }
    scrollTo(scroll);
  };
  const mostScroll = () => Math.max(0, plan.height - (size.height - TOP - 4));
  const scrollTo = (to) => { scroll = Math.min(Math.max(0, to), mostScroll()); request(); };
  const entryOf = (lane) => plan.entries.find((entry) => entry.lane === lane) || (lane.parent === null ? null : entryOf(lanes[lane.parent]));
  const bandOf = ({ lane, depth }) => {
    const { bands, top, bottom } = entryOf(lane);
    return bands.find((band) => band.lane === lane && band.depth === Math.min(depth, MOST_ROWS - 1)) || { y: top + 4, height: bottom - top - 8 };
  };
  const middleOf = (strip) => { const band = bandOf(strip); return TOP + band.y - scroll + band.height / 2; };

  const fit = () => {
    size.width = box.clientWidth;
    size.gutter = size.width < NARROW ? 0 : Math.round(Math.min(230, size.width * 0.22));
    size.dpr = Math.min(devicePixelRatio || 1, 2);
    canvas.width = Math.round(size.width * size.dpr);
    if (size.width) arrange();
  };

  /* The range in view. */
  const clamped = (from, to) => {
    const all = data.header.length_ns, room = Math.min(Math.max(to - from, LEAST_NS), all);
    const start = Math.min(Math.max(from, 0), all - room);
    return { from: start, to: start + room };
  };
  const set = (from, to) => { target = null; view = clamped(from, to); request(); };
  const go = (from, to) => { if (calm.matches) set(from, to); else { target = clamped(from, to); request(); } };
  const zoom = (factor, at = (view.from + view.to) / 2, move = go) => {
    const now = move === go && target || view;
    move(at - (at - now.from) * factor, at + (now.to - at) * factor);
  };
  const pan = (share, move = go) => { const now = target || view, by = share * (now.to - now.from); move(now.from + by, now.to + by); };
  const goTo = (from, to, room = 0.15) => go(from - (to - from) * room, to + (to - from) * room);
  const ease = () => {
    if (!target) return;
    const next = { from: view.from + (target.from - view.from) * 0.4, to: view.to + (target.to - view.to) * 0.4 };
    const isThere = Math.abs(next.from - target.from) + Math.abs(next.to - target.to) < span() * 0.004;
    view = isThere ? target : next;
    if (isThere) target = null; else request();
  };

  /* Blocks come when they are first seen. */
  const failed = (what) => { broken.add(what); problem("A part of the timeline cannot be read; it is left out."); };
  const problem = (text) => { part("problem").hidden = false; part("problem").textContent = text; };
  const need = (lane, from, to) => file.pieces(lane, from, to).filter(([block]) => {
    if (!block.rows && !block.time && !broken.has(block)) state.waits.push(data.load(lane, block).catch(() => failed(block)).then(request));
    return block.rows;
  });
  const loadAll = (some) => Promise.all(some.flatMap((lane) => lane.blocks.map((block) => data.load(lane, block).catch(() => failed(block)))));

  /* Drawing: strips as pixels of one row each, stretched to their height; texts and lines above them. */
  const request = () => { if (!isDue && data) { isDue = true; requestAnimationFrame(draw); } };
  let pixels = null, nRows = 0, words = [];
  const paint = (band, at, wide) => {
    const { lane, depth } = band, columns = pixels.width, unit = span() / columns, line = new Uint32Array(pixels.data.buffer, at * columns * 4, columns);
    for (const piece of need(lane, view.from, view.to)) {
      const [block] = piece, row = block.rows[depth];
      if (!row) continue;
      const [from, to] = file.span(piece, view.from, view.to);
      file.eachMark(row, from, to, unit * 1.5, (i, next) => {
        const isOne = next === i + 1, left = Math.max(row.start[i], from), right = Math.min(row.end[next - 1], to);
        const x0 = Math.max(0, Math.floor((left - view.from) / unit)), x1 = Math.min(columns, Math.max(x0 + 1, Math.floor((right - view.from) / unit)));
        const number = row.name[isOne ? i : file.longest(row, i, next)], ink = inkOf(lane, number);
        const busy = isOne && !block.level ? 1 : (row.sum[next] - row.sum[i]) / Math.max(row.end[next - 1] - row.start[i], unit);
        const level = hits && !hits.isHit[number] ? 0.16 : 0.35 + 0.65 * Math.ceil(Math.min(busy, 1) * LEVELS) / LEVELS;
        line.fill(palette.colours[ink].bits | (Math.round(255 * level) << 24), x0, x1 - x0 > 3 ? x1 - 1 : x1);
        if (wide && x1 - x0 > 26 * size.dpr) words.push({ x: x0, width: x1 - x0, band, number, level, ink, isRun: block.level > 0 && row.a[i] > 1, n: row.a[i] });
      });
    }
  };
  const textOf = (number, room) => {
    let known = widths.get(number);
    if (!known) {
      const text = short((names[number] || "").replace(/^void |at::native::/g, ""), 160);
      known = { text, each: context.measureText(text).width / Math.max(text.length, 1) };
      widths.set(number, known);
    }
    const most = Math.floor(room / known.each);
    return most >= known.text.length ? known.text : most < 4 ? "" : known.text.slice(0, most - 1) + "…";
  };
  const fitted = (text, room) => {
    let most = text.length;
    while (most > 1 && context.measureText(text.slice(0, most) + (most < text.length ? "…" : "")).width > room) most -= Math.max(1, most >> 4);
    return most < text.length ? text.slice(0, most) + "…" : text;
  };
  const label = (text, x, y, colour, align = "left") => { context.textAlign = align; context.fillStyle = colour; context.fillText(text, x, y); };
  const rect = (x, y, width, height, colour) => { context.fillStyle = colour; context.fillRect(x, y, width, height); };

  const draw = () => {
    isDue = false;
    if (!size.width || !names.length) return;
    const began = performance.now(), width = plotWidth(), { dpr, gutter, height } = size;
    ease();
    context.setTransform(dpr, 0, 0, dpr, 0, 0);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.imageSmoothingEnabled = false;
    rect(0, 0, size.width, height, palette.ground);
    const shown = plan.entries.filter((entry) => entry.bottom > scroll && entry.top < scroll + height - TOP);
    const bands = shown.flatMap((entry) => entry.bands).filter((band) => band.y + band.height > scroll && band.y < scroll + height - TOP);
    const columns = Math.round(width * dpr), n = bands.length + 1;
    if (!pixels || pixels.width !== columns || nRows < n) {
      nRows = Math.max(n, 64);
      texture.canvas.width = columns;
      texture.canvas.height = nRows;
      pixels = texture.createImageData(columns, nRows);
    }
    pixels.data.fill(0, 0, n * columns * 4);
    words = [];
    bands.forEach((band, at) => paint(band, at, band.height > 10));
    paintOverview(bands.length);
    texture.putImageData(pixels, 0, 0, 0, 0, columns, n);
    drawGround(shown, width);
    context.save();
    context.beginPath();
    context.rect(0, TOP, size.width, height - TOP);
    context.clip();
    bands.forEach((band, at) => context.drawImage(texture.canvas, 0, at, columns, 1, gutter, TOP + band.y - scroll, width, band.height));
    for (const word of words) {
      const text = textOf(word.number, word.width / dpr - 8);
      const colour = palette.colours[word.ink];
      if (text) label(text, gutter + word.x / dpr + 4, TOP + word.band.y - scroll + word.band.height / 2 + 0.5, word.level > 0.6 ? colour.ink : palette.text);
    }
    shown.filter(({ lane }) => lane.kind === "counter").forEach(drawCounter);
    drawMarks();
    drawArrows();
    drawLabels(shown);
    context.restore();
    drawHead(bands.length, columns, width);
    state.frames.push(performance.now() - began);
    if (state.frames.length > 2000) state.frames.shift();
    if (table.open) { clearTimeout(tableTimer); tableTimer = setTimeout(tell, 200); }
  };

  /** A step between ticks: 1, 2 or 5 times a power of ten, about 110 px wide. */
  const tickOf = (width) => {
    const least = span() * 110 / width, power = 10 ** Math.floor(Math.log10(least));
    return power * [1, 2, 5, 10].find((item) => item * power >= least);
  };
  const drawGround = (shown, width) => {
    shown.forEach(({ lane, top, bottom }) => {
      const y = TOP + top - scroll;
      if (lane.isGroup) rect(0, y, size.width, bottom - top, palette.raised);
      rect(0, y + bottom - top - 1, size.width, 1, palette.grid);
    });
    const tick = tickOf(width);
    for (let time = Math.ceil(view.from / tick) * tick; time < view.to; time += tick) rect(Math.round(xOf(time)), TOP, 1, size.height - TOP, palette.grid);
    if (!marked) return;
    const left = Math.max(size.gutter, xOf(marked.from));
    context.globalAlpha = 0.16;
    rect(left, TOP, Math.max(0, Math.min(size.width, xOf(marked.to)) - left), size.height, palette.link);
    context.globalAlpha = 1;
  };
  const drawHead = (at, columns, width) => {
    const { gutter } = size, { header } = data, tick = tickOf(width), all = header.length_ns;
    const over = (time) => gutter + time / all * width;
    rect(0, 0, size.width, TOP, palette.ground);
    rect(gutter, 0, width, OVERVIEW - 2, palette.raised);
    header.windows.forEach((item) => rect(over(item.start), 0, Math.max(2, over(item.end) - over(item.start)), OVERVIEW - 2, palette.line));
    context.drawImage(texture.canvas, 0, at, columns, 1, gutter, 3, width, OVERVIEW - 8);
    context.strokeStyle = palette.link;
    context.lineWidth = 2;
    context.strokeRect(Math.min(over(view.from), size.width - 5) + 1, 1, Math.max(3, over(view.to) - over(view.from) - 2), OVERVIEW - 4);
    const y = OVERVIEW + AXIS / 2, most = Math.max(3, Math.ceil(Math.log10(Math.max(view.to, 1) / tick)) + 1);
    context.save();
    context.beginPath();
    context.rect(gutter, OVERVIEW, width, AXIS + DETAIL);
    context.clip();
    for (let time = Math.ceil(view.from / tick) * tick; time < view.to; time += tick) {
      rect(Math.round(xOf(time)), OVERVIEW + 4, 1, AXIS - 4, palette.line);
      label(time ? length(time, most) : "0", xOf(time) + 4, y, palette.muted);
    }
    /* A thick line where every event is kept, a dotted one where only runs are. */
    const line = OVERVIEW + AXIS;
    for (let x = gutter + 1; x < size.width; x += 6) rect(x, line + 2, 3, 2, palette.muted);
    const isWhole = header.windows.some((item) => item.start <= 0 && item.end >= all);
    header.windows.forEach((item) => {
      const [left, right] = [Math.max(gutter, xOf(item.start)), Math.min(size.width, xOf(item.end))];
      if (right < gutter || left > size.width) return;
      rect(left, line + 1, Math.max(2, right - left), 4, palette.link);
    });
    part("full").textContent = isWhole ? "Every event is shown." : sayDetail(header.windows);
    context.restore();
    if (gutter) label(header.is_unix ? "0 = " + clock(0).slice(11, 23) + " UTC" : "from the start", gutter - 8, y, palette.muted, "right");
  };
  const sayDetail = (windows) => {
    const inside = windows.filter((item) => item.start < view.to && item.end > view.from);
    const isAll = inside.some((item) => !item.nodes && item.start <= view.from && item.end >= view.to);
    const why = inside.map((item) => item.why + (item.nodes ? `, ${item.nodes.slice(0, 3).join(", ")} only` : "")).slice(0, 3).join("; ") + (inside.length > 3 ? "; …" : "");
    return isAll ? `In view, every event is shown (${why}).` : inside.length ? `Every event is shown where the axis has a thick line (${why}); elsewhere neighbouring events are drawn as runs.`
      : "Here neighbouring events are drawn as runs: single events, their arguments and arrows are left out.";
  };
  let overviewLane = null;
  const paintOverview = (at) => {
    overviewLane = overviewLane || lanes.filter((lane) => lane.kind === "stream" || lane.kind === "thread")
      .sort((a, b) => (b.kind === "stream") - (a.kind === "stream") || b.n_events - a.n_events)[0] || lanes.find((lane) => !lane.isGroup && lane.kind !== "counter");
    if (!overviewLane) return;
    const seen = view;
    view = { from: 0, to: data.header.length_ns };
    paint({ lane: overviewLane, depth: 0 }, at, false);
    view = seen;
  };
  const drawLabels = (shown) => {
    shown.forEach(({ lane, depth, top, bottom, isFolded }) => {
      const y = TOP + top - scroll, canFold = lane.isGroup || lane.rows > 1, x = 6 + Math.min(depth, 5) * 11;
      const isHere = cursor && cursor.lane === lane, middle = size.gutter ? y + Math.min(bottom - top, 22) / 2 : y + 8;
      if (size.gutter) rect(0, y, size.gutter, bottom - top - 1, lane.isGroup ? palette.raised : palette.ground);
      if (isHere) rect(0, y, 3, bottom - top - 1, palette.link);
      if (canFold) {
        context.fillStyle = palette.muted;
        context.beginPath();
        if (isFolded) { context.moveTo(x + 1, middle - 4); context.lineTo(x + 7, middle); context.lineTo(x + 1, middle + 4); }
        else { context.moveTo(x, middle - 3); context.lineTo(x + 8, middle - 3); context.lineTo(x + 4, middle + 4); }
        context.fill();
      }
      context.font = (lane.isGroup ? "600 " : "") + "12px system-ui, sans-serif";
      label(fitted(lane.label, (size.gutter || 240) - x - 17), x + 13, middle, palette.text);
      if (lane.kind === "counter" && size.gutter) { context.font = "10px system-ui, sans-serif"; label("up to " + amount(lane.most, lane.unit), x + 13, middle + 13, palette.muted); }
    });
    context.font = "11px system-ui, sans-serif";
    if (size.gutter) rect(size.gutter - 1, TOP, 1, size.height - TOP, palette.line);
    if (mostScroll()) {
      const room = size.height - TOP, tall = Math.max(24, room * room / plan.height);
      rect(size.width - 5, TOP + (room - tall) * scroll / mostScroll(), 4, tall, palette.muted);
    }
  };
  const drawCounter = ({ lane, top, bottom }) => {
    const base = TOP + bottom - scroll - 3, room = 26, hue = /gpu/i.test(lane.label) ? "compute" : /mem/i.test(lane.label) ? "copies" : /cpu|host/i.test(lane.label) ? "operators" : "runtime";
    context.fillStyle = palette.colours[palette.first[hue]].fill;
    need(lane, view.from, view.to);
    for (const [{ time, value }, from, to] of file.pieces(lane, view.from, view.to)) {
      let at = time ? Math.max(0, file.above(time, from) - 1) : Infinity;
      while (time && at < time.length && time[at] < to) {
        const x = Math.max(size.gutter, xOf(Math.max(time[at], from))), next = Math.max(at + 1, file.lowest(time, timeOf(x + 1)));
        let most = 0;
        for (let i = at; i < Math.min(next, time.length); i++) most = Math.max(most, value[i]);
        const right = Math.min(size.width, xOf(Math.min(next < time.length ? time[next] : to, to))), tall = room * most / (lane.most || 1);
        context.globalAlpha = 0.45;
        context.fillRect(x, base - tall, right - x, tall);
        context.globalAlpha = 1;
        context.fillRect(x, base - tall, right - x, 1.5);
        at = next;
      }
    }
  };
  const frame = (strip, colour, width) => {
    const band = bandOf(strip), x = Math.max(size.gutter - 4, xOf(strip.start)), right = Math.min(size.width + 4, xOf(strip.end));
    context.strokeStyle = colour;
    context.lineWidth = width;
    if (right >= size.gutter && x <= size.width) context.strokeRect(x - 1, TOP + band.y - scroll - 1, Math.max(3, right - x) + 1, band.height + 2);
  };
  const drawMarks = () => {
    if (marked) for (const time of [marked.from, marked.to]) if (xOf(time) >= size.gutter) rect(xOf(time), TOP, 1.5, size.height, palette.link);
    if (hits && hits.list[hits.at]) frame(hits.list[hits.at], palette.text, 2);
    kin.forEach((strip) => frame(strip, palette.link, 2));
    if (chosen) frame(chosen, palette.text, 2.5);
    if (cursor && cursor.row && document.activeElement === canvas && cursor.row !== (chosen || {}).row | cursor.at !== (chosen || {}).at) {
      context.setLineDash([3, 2]);
      frame(cursor, palette.text, 1.5);
      context.setLineDash([]);
    }
  };

  /* Arrows from a launch to what it started. */
  const rankOf = (lane) => lane.kind === "rank" || lane.parent === null ? lane : rankOf(lanes[lane.parent]);
  const arrowsOf = (lane) => data.header.arrows.filter((block) => lanes[block.lane] === rankOf(lane) || rankOf(lanes[block.lane]) === rankOf(lane));
  const arrow = (x0, y0, x1, y1, colour, width) => {
    const bend = Math.min(60, Math.abs(x1 - x0) / 2 + 3);
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 5, y1);
    context.stroke();
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - 6, y1 - 3.5);
    context.lineTo(x1 - 6, y1 + 3.5);
    context.fill();
  };
  const drawArrows = () => {
    context.save();
    context.beginPath();
    context.rect(size.gutter, TOP, plotWidth(), size.height);
    context.clip();
    state.arrows = 0;
    const drawn = chosen && chosen.links || [];
    const faint = data.header.arrows.filter((block) => block.flow && block.to > view.from && block.from < view.to);
    context.globalAlpha = 0.55;
    for (const block of faint) {
      const first = file.lowest(block.fromStart, view.from), last = file.lowest(block.fromStart, view.to);
      if (last - first > MOST_ARROWS || entryOf(lanes[block.lane]).isFolded) continue;
      for (let at = first; at < last; at++) {
        const from = file.strip(lanes[block.fromLane[at]], block.fromStart[at], block.flow[at]), to = file.strip(lanes[block.toLane[at]], block.toStart[at], block.flow[at]);
        if (from && to) { state.arrows++; arrow(xOf(from.start), middleOf(from), xOf(to.start), middleOf(to), palette.muted, 1); }
      }
    }
    context.globalAlpha = 1;
    drawn.forEach(([from, to]) => {
      arrow(xOf(from.start), middleOf(from), xOf(to.start), middleOf(to), palette.link, 2);
      [from, to].forEach((end) => pointOut(end, end === from ? "launch" : "run"));
    });
    context.restore();
  };
  /* Ends beyond the edge are named at it. */
  const pointOut = (strip, what) => {
    const x = xOf(strip.start), isLeft = xOf(strip.end) < size.gutter, isRight = x > size.width;
    const y = Math.min(Math.max(middleOf(strip), TOP + 9), size.height - 9), isOff = y !== middleOf(strip);
    if (!isLeft && !isRight && !isOff) return;
    const text = isLeft ? `◂ ${what}, ${length(view.from - strip.start, 3)} earlier` : isRight ? `${what}, ${length(strip.start - view.to, 3)} later ▸`
      : `${what} ${middleOf(strip) < y ? "above ▴" : "below ▾"}`;
    const width = context.measureText(text).width + 10, left = Math.min(Math.max(isLeft ? size.gutter + 4 : isRight ? size.width - width - 10 : x - width / 2, size.gutter + 4), size.width - width - 10);
    rect(left, y - 8, width, 16, palette.link);
    label(text, left + 5, y + 0.5, palette.ground);
  };

  /* What is under a point. */
  const stripAt = (band, time, slack) => {
    const places = need(band.lane, time - slack, time + slack).reverse();
    for (const [{ level, rows }] of places) {
      const row = rows[band.depth];
      for (let at = row ? file.above(row.start, time + slack) - 1 : -1; at >= 0 && row.reach[at] >= time - slack; at--) {
        if (row.end[at] >= time - slack) return { lane: band.lane, row, depth: band.depth, at, level, start: row.start[at], end: row.end[at] };
      }
    }
    return null;
  };
  const entryAt = (y) => plan.entries.find((entry) => y - TOP + scroll >= entry.top && y - TOP + scroll < entry.bottom);
  const hit = (x, y) => {
    const entry = y > TOP ? entryAt(y) : null;
    const band = entry && x >= size.gutter ? entry.bands.find((item) => y - TOP + scroll >= item.y - 1 && y - TOP + scroll <= item.y + item.height) : null;
    return { entry, strip: band ? stripAt(band, timeOf(x), span() / plotWidth() * 2) : null };
  };

  /* Choosing a strip: its details as text, its launch, its runs, its operator and its step. */
  const isRun = (strip) => strip.level > 0 && strip.row.a[strip.at] > 1;
  const describe = (strip) => {
    const duration = length(strip.end - strip.start);
    return isRun(strip) ? `a run of ${whole(strip.row.a[strip.at])} events, most of it ${short(nameOf(strip))}, ${duration}` : `${short(nameOf(strip))}, ${duration}`;
  };
  const stepOf = (strip) => steps.filter((step) => rankOf(step.lane) === rankOf(strip.lane)).concat(steps)
    .find((step) => step.start <= strip.start && step.end > strip.start && step.level === 0 | !isRun(step));
  const choose = async (strip) => {
    chosen = strip;
    cursor = strip || cursor;
    kin = [];
    request();
    if (!strip) { panel.hidden = true; return; }
    let links = [];
    const flow = strip.level ? 0 : strip.row.b[strip.at];
    if (flow) {
      const blocks = await Promise.all(arrowsOf(strip.lane).map((block) => data.arrows(block).catch(() => failed(block))));
      for (const block of blocks) for (let at = 0; block && at < block.n; at++) {
        if (block.flow[at] !== flow) continue;
        const ends = [lanes[block.fromLane[at]], lanes[block.toLane[at]]];
        await loadAll(ends);
        const pair = [file.strip(ends[0], block.fromStart[at], flow), file.strip(ends[1], block.toStart[at], flow)];
        if (pair[0] && pair[1] && pair.some((end) => end.row === strip.row && end.at === strip.at)) links.push(pair);
      }
      /* The launch is chosen with all that it started, a run with what was started beside it. */
      if (links.length && links[0][1].row === strip.row) {
        const launch = links[0][0];
        for (const block of blocks) for (let at = 0; block && at < block.n; at++) {
          if (block.flow[at] === flow && block.fromStart[at] === launch.start && block.toStart[at] !== strip.start) {
            const other = file.strip(lanes[block.toLane[at]], block.toStart[at], flow);
            if (other) links.push([launch, other]);
          }
        }
      }
    }
    if (chosen !== strip) return;
    strip.links = links;
    kin = [...new Set(links.flat())].filter((end) => end.row !== strip.row || end.at !== strip.at);
    showDetails(strip, links);
    request();
  };
  const jump = (strip) => {
    const button = element("button", describe(strip) + " · " + short(strip.lane.label, 40));
    button.type = "button";
    button.addEventListener("click", () => { reveal(strip); choose(strip); });
    return button;
  };
  const showDetails = (strip, links) => {
    const launch = links.length ? links[0][0] : null, isLaunch = launch && launch.row === strip.row && launch.at === strip.at;
    const passes = (number) => !RUNTIME.test(names[number] || "");
    const caller = launch || (strip.lane.kind === "thread" && !strip.level ? strip : null);
    const operator = caller && file.around(caller.lane, caller, passes), step = stepOf(strip), list = element("dl");
    const add = (term, ...inner) => { if (inner.some(Boolean)) list.append(element("div", "", element("dt", term), element("dd", "", ...inner))); };
    const isMany = isRun(strip), from = `${length(strip.start, 9)} after the start`;
    add(isMany ? "Most of it" : "Name", nameOf(strip));
    if (isMany) add("Events", `${whole(strip.row.a[strip.at])}, drawn as one run: they are closer than the resolution here`);
    add("Start", from + (data.header.is_unix ? ` (${clock(strip.start)})` : ""));
    add("Duration", length(strip.end - strip.start, 9) + (isMany ? `, of which an event runs for ${length(strip.row.b[strip.at])}` : ""));
    add("Lane", pathOf(strip.lane));
    if (!strip.level) add("Arguments", details[strip.row.a[strip.at]] || "");
    if (step && step.row !== strip.row) add("Step", jump(step));
    if (launch && !isLaunch) add("Launch", jump(launch));
    if (operator) add(launch && !isLaunch ? "Operator of the launch" : "Operator", jump(operator));
    const runs = links.map(([, to]) => to).filter((to) => isLaunch || to.row !== strip.row || to.at !== strip.at);
    if (runs.length) add(isLaunch ? `Starts ${runs.length === 1 ? "one run" : runs.length + " runs"}` : "Started together", ...runs.slice(0, 12).map(jump), runs.length > 12 ? `and ${runs.length - 12} more` : "");
    if (strip.lane.node && strip.level === 0 && strip.row.b[strip.at] && !links.length) add("Arrows", "the other end is left out of this file");
    const close = element("button", "Close");
    close.type = "button";
    close.className = "rg-lanes-close";
    close.addEventListener("click", () => { choose(null); canvas.focus(); });
    panel.replaceChildren(element("h4", isMany ? "Run of events" : "Event"), close, list);
    panel.hidden = false;
    said.textContent = describe(strip) + ", " + short(strip.lane.label, 60);
  };
  const unfoldTo = (lane) => { for (let at = lane.parent; at !== null; at = lanes[at].parent) folded.delete(at); };
  const bring = (strip) => {
    const band = bandOf(strip), room = size.height - TOP;
    if (band.y < scroll + 4 || band.y + band.height > scroll + room - 12) scrollTo(band.y - room / 3);
  };
  const reveal = (strip) => {
    unfoldTo(strip.lane);
    arrange();
    const now = target || view;
    if (strip.end < now.from || strip.start > now.to || (strip.end - strip.start) / (now.to - now.from) < 0.01) {
      const room = Math.max((strip.end - strip.start) * 6, Math.min(now.to - now.from, (strip.end - strip.start) * 60), LEAST_NS);
      const middle = (strip.start + strip.end) / 2;
      go(middle - room / 2, middle + room / 2);
    }
    bring(strip);
  };

  /* Folding. */
  const fold = (lane, isFolded = !folded.has(lane.id)) => {
    if (!lane.isGroup && lane.rows < 2) return;
    if (isFolded) folded.add(lane.id); else folded.delete(lane.id);
    arrange();
    said.textContent = `${lane.label} ${isFolded ? "folded" : "unfolded"}`;
  };

  /* Search by name. */
  const search = async () => {
    const text = query.value.trim().toLowerCase();
    if (!text) { hits = null; count.textContent = ""; request(); return; }
    const isHit = Uint8Array.from(names, (name) => name.toLowerCase().includes(text));
    await loadAll(lanes.filter((lane) => !lane.isGroup && lane.kind !== "counter"));
    if (text !== query.value.trim().toLowerCase()) return;
    hits = { isHit, list: file.matches(lanes, (number) => isHit[number]), at: -1 };
    count.textContent = hits.list.length ? whole(hits.list.length) + (hits.list.length === 1 ? " event" : " events") : "none";
    request();
  };
  const nextHit = async (by) => {
    if (!hits) await search();
    if (!hits || !hits.list.length) return;
    const n = hits.list.length, first = file.lowest(hits.list.map((item) => item.start), view.from);
    hits.at = hits.at < 0 ? (by > 0 ? first : first - 1 + n) % n : (hits.at + by + n) % n;
    const strip = hits.list[hits.at];
    count.textContent = `${whole(hits.at + 1)} of ${whole(n)}`;
    reveal(strip);
    choose(strip);
  };

  /* Steps. */
  const goStep = (by) => {
    const own = steps.filter((step) => step.lane === steps[0].lane), now = target || view;
    const middle = (now.from + now.to) / 2, at = file.above(own.map((step) => step.start), middle) - 1;
    const isIn = own[at] && now.to - now.from < (own[at].end - own[at].start) * 3;
    const step = own[Math.min(Math.max(isIn ? at + by : Math.max(at, 0), 0), own.length - 1)];
    if (step) { goTo(step.start, step.end, 0.05); said.textContent = describe(step); stepBox.value = String(steps.indexOf(step)); }
  };

  /* What ran in the marked range, or in the one in view, lane by lane. */
  const tell = async () => {
    const { from, to } = marked || view;
    const some = [...new Set(plan.entries.flatMap((entry) => entry.bands.map((band) => band.lane)))];
    await Promise.all(some.flatMap((lane) => file.pieces(lane, from, to).map(([block]) => data.load(lane, block).catch(() => failed(block)))));
    const rows = some.flatMap((lane) => file.tally(lane, from, to).map((item) => ({ lane, ...item }))).sort((a, b) => b.ns - a.ns);
    part("range").textContent = `${marked ? "Marked range" : "Range in view"}: ${length(from, 6)} to ${length(to, 6)}, ${length(to - from)} long; ${whole(rows.length)} names`
      + (rows.length > 200 ? ", the 200 of most time listed" : "") + ". Lanes that are folded away are left out.";
    const body = table.querySelector("tbody");
    body.replaceChildren(...rows.slice(0, 200).map((item) => {
      const head = element("th", (item.isRun ? "run, most of it " : "") + short(names[item.name] || "(no name)", 200));
      head.scope = "row";
      return element("tr", "", head, element("td", pathOf(item.lane)), element("td", (item.isRun ? "≈ " : "") + whole(item.n)), element("td", (item.isRun ? "≈ " : "") + length(item.ns)));
    }));
    if (!rows.length) body.replaceChildren(element("tr", "", element("td", "Nothing ran in this range.")));
  };

  /* A finding's place: its part unfolded, its time marked. */
  const show = async ({ node, start, end }) => {
    await wake();
    const top = lanes.find((lane) => lane.node === node && lane.kind === "rank") || lanes.find((lane) => lane.node === node);
    if (top) {
      lanes.forEach((lane) => { if (lane.kind === "rank" && lane !== top) folded.add(lane.id); });
      unfoldTo(top);
      lanes.filter((lane) => within(lane, top)).forEach((lane) => { if (lane.isGroup || lane.kind !== "thread") folded.delete(lane.id); });
      arrange();
      scrollTo(entryOf(top).top - size.height / 3);
    }
    const from = start === "" ? null : Number(start), to = end === "" ? from : Number(end);
    const window = data.header.windows[0];
    if (from !== null) {
      marked = clamped(from, Math.max(to, from + 1000));
      goTo(marked.from, marked.to, 0.3);
    } else if (window) goTo(window.start, window.end, 0.05);
    figure.scrollIntoView({ block: "start", behavior: calm.matches ? "auto" : "smooth" });
    canvas.focus({ preventScroll: true });
    said.textContent = `Timeline at ${top ? top.label : "the finding"}${from === null ? "" : `, ${length(marked.from)} after the start`}`;
  };

  /* Keys: those of Perfetto for the range, arrows for strips. */
  const move = (by) => {
    if (!cursor || !cursor.row) { enter(); return; }
    const at = cursor.at + by, { row } = cursor;
    let next = row.start[at] === undefined ? null : { ...cursor, links: undefined, at, start: row.start[at], end: row.end[at] };
    if (!next) {
      const all = cursor.lane.blocks.filter((block) => block.rows && block.rows[cursor.depth]).flatMap((block) => [[block, block.rows[cursor.depth]]]);
      const beyond = all.filter(([block, other]) => other !== row && other.start.length && block.level <= cursor.level && (by > 0 ? other.start[0] >= cursor.end : other.end.at(-1) <= cursor.start));
      const found = beyond.sort(([, a], [, b]) => by > 0 ? a.start[0] - b.start[0] : b.start[0] - a.start[0])[0];
      if (!found) return;
      const index = by > 0 ? 0 : found[1].start.length - 1;
      next = { lane: cursor.lane, depth: cursor.depth, level: found[0].level, row: found[1], at: index, start: found[1].start[index], end: found[1].end[index] };
    }
    put(next);
  };
  const put = (strip) => {
    cursor = strip;
    if (strip.row) { const now = target || view; if (strip.start < now.from || strip.end > now.to) { const half = (now.to - now.from) / 2, middle = Math.min((strip.start + strip.end) / 2, strip.start + half); go(middle - half, middle + half); } bring(strip); said.textContent = describe(strip) + ", " + short(strip.lane.label, 60); }
    else { const entry = entryOf(strip.lane); if (entry.top < scroll || entry.bottom > scroll + size.height - TOP) scrollTo(entry.top - 40); said.textContent = `${short(strip.lane.label, 60)}, ${folded.has(strip.lane.id) ? "folded" : strip.lane.isGroup || strip.lane.rows > 1 ? "unfolded" : strip.lane.kind}, ${whole(strip.lane.n_events)} events`; }
    request();
  };
  const enter = () => { const entry = plan.entries.find((item) => item.bands.length) || plan.entries[0]; if (entry) put(spotOf(entry, 0)); };
  const spotOf = (entry, depth) => {
    const time = cursor && cursor.row ? Math.min(Math.max(cursor.start, view.from), view.to) : (view.from + view.to) / 2;
    const band = entry.lane.isGroup ? null : entry.bands[depth];
    return band && (stripAt(band, time, 0) || stripAt(band, time, span() / 2)) || { lane: entry.lane, depth };
  };
  const climb = (by) => {
    if (!cursor) { enter(); return; }
    const spots = plan.entries.flatMap((entry) => entry.lane.isGroup || !entry.bands.length || entry.isFolded ? [[entry, 0]] : entry.bands.map((_, depth) => [entry, depth]));
    const at = spots.findIndex(([entry, depth]) => entry === entryOf(cursor.lane) && depth === (entry.bands.length > 1 && !entry.isFolded ? cursor.depth || 0 : 0));
    const next = spots[Math.min(Math.max(at + by, 0), spots.length - 1)];
    put(spotOf(next[0], next[1]));
  };
  const KEYS = {
    w: () => zoom(0.6), s: () => zoom(1 / 0.6), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), a: () => pan(-0.25), d: () => pan(0.25),
    0: () => go(0, data.header.length_ns), "[": () => goStep(-1), "]": () => goStep(1), ArrowLeft: () => move(-1), ArrowRight: () => move(1),
    ArrowUp: () => climb(-1), ArrowDown: () => climb(1), PageUp: () => scrollTo(scroll - size.height / 2), PageDown: () => scrollTo(scroll + size.height / 2),
    Enter: () => { if (cursor && cursor.row) choose(cursor); else if (cursor) fold(cursor.lane); else enter(); }, " ": () => { if (cursor) fold(cursor.lane); },
    f: () => { if (chosen) goTo(chosen.start, chosen.end, 1); }, n: () => nextHit(1), N: () => nextHit(-1),
    m: () => { marked = chosen ? { from: chosen.start, to: chosen.end } : { ...view }; request(); },
    Escape: () => { marked = null; choose(null); },
  };
  const pressed = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = event.shiftKey && event.key.startsWith("Arrow") ? { ArrowLeft: KEYS.a, ArrowRight: KEYS.d, ArrowUp: KEYS.w, ArrowDown: KEYS.s }[event.key] : KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };

  /* Pointers: one drags, with Shift it marks a range; two pinch. One finger leaves up and down to the page. */
  const fingers = new Map();
  let drag = null;
  const place = (event) => { const edge = canvas.getBoundingClientRect(); return { x: event.clientX - edge.left, y: event.clientY - edge.top }; };
  const down = (event) => {
    if (event.button) return;
    const at = place(event);
    fingers.set(event.pointerId, at);
    canvas.setPointerCapture(event.pointerId);
    target = null;
    drag = { ...at, view, scroll, isMark: event.shiftKey, isOverview: at.y < OVERVIEW, isMoved: false, isMouse: event.pointerType === "mouse", two: pinch() };
    if (drag.isOverview) lookAt(at.x);
  };
  const pinch = () => {
    if (fingers.size !== 2) return null;
    const [a, b] = [...fingers.values()];
    return { middle: (a.x + b.x) / 2, y: (a.y + b.y) / 2, apart: Math.max(20, Math.abs(a.x - b.x)) };
  };
  const lookAt = (x) => { const middle = (x - size.gutter) / plotWidth() * data.header.length_ns, half = span() / 2; set(middle - half, middle + half); };
  const moved = (event) => {
    const at = place(event);
    if (!drag) { point(at, event.pointerType); return; }
    if (!fingers.has(event.pointerId)) return;
    fingers.set(event.pointerId, at);
    const perPx = (drag.view.to - drag.view.from) / plotWidth(), two = pinch();
    if (Math.hypot(at.x - drag.x, at.y - drag.y) > CLICK_PX) drag.isMoved = true;
    if (two && drag.two) {
      const anchor = drag.view.from + (drag.two.middle - size.gutter) * perPx, factor = drag.two.apart / two.apart;
      set(anchor - (two.middle - size.gutter) * perPx * factor, anchor + (plotWidth() - two.middle + size.gutter) * perPx * factor);
      scrollTo(drag.scroll - (two.y - drag.two.y));
    } else if (drag.isOverview) lookAt(at.x);
    else if (drag.isMark) {
      const ends = [timeOf(drag.x), timeOf(at.x)].map((time) => Math.min(Math.max(time, 0), data.header.length_ns)).sort((a, b) => a - b);
      marked = { from: ends[0], to: ends[1] };
      request();
    } else if (drag.isMoved) {
      set(drag.view.from - (at.x - drag.x) * perPx, drag.view.to - (at.x - drag.x) * perPx);
      if (drag.isMouse) scrollTo(drag.scroll - (at.y - drag.y));
    }
  };
  const up = (event) => {
    const at = place(event), was = drag;
    fingers.delete(event.pointerId);
    drag = fingers.size ? drag : null;
    if (event.type === "pointercancel" || !was || was.isMoved || was.isOverview || was.two) return;
    const { entry, strip } = hit(at.x, at.y);
    if (strip && strip.lane.kind === "steps" && was.isMouse) goTo(strip.start, strip.end, 0.05);
    if (strip) choose(strip);
    else if (entry && (at.x < size.gutter || !size.gutter && at.y - TOP + scroll < entry.top + 15 || entry.lane.isGroup)) fold(entry.lane);
    else choose(null);
  };
  const point = ({ x, y }, kind) => {
    const { entry, strip } = hit(x, y), isLabel = entry && x < size.gutter;
    canvas.style.cursor = strip || (isLabel && (entry.lane.isGroup || entry.lane.rows > 1)) ? "pointer" : y < OVERVIEW ? "ew-resize" : "grab";
    tip.hidden = kind !== "mouse" || !(strip || isLabel);
    if (tip.hidden) return;
    tip.textContent = strip ? describe(strip) : `${entry.lane.label} · ${whole(entry.lane.n_events)} events`;
    tip.style.left = Math.min(x + 14, size.width - tip.offsetWidth - 4) + "px";
    tip.style.top = (y + 20 + tip.offsetHeight > size.height ? y - tip.offsetHeight - 8 : y + 18) + "px";
  };
  const wheeled = (event) => {
    const unit = event.deltaMode ? 30 : 1, dx = event.deltaX * unit, dy = event.deltaY * unit, isSide = event.shiftKey || Math.abs(dx) > Math.abs(dy);
    const next = scroll + dy, canScroll = document.activeElement === canvas && (dy < 0 ? scroll > 0 : scroll < mostScroll());
    if (event.ctrlKey || event.metaKey) zoom(Math.exp(Math.max(-120, Math.min(120, dy)) * 0.004), timeOf(Math.max(size.gutter, place(event).x)), set);
    else if (isSide) pan((dx || dy) / plotWidth(), set);
    else if (canScroll) scrollTo(next);
    else return;
    event.preventDefault();
    tip.hidden = true;
  };

  /* Awake when it comes near. What is folded first: ranks but one where there are many, and host threads of many rows. */
  const foldFirst = () => {
    const ranks = lanes.filter((lane) => lane.kind === "rank");
    ranks.slice(ranks.length > 2 ? 1 : ranks.length).forEach((lane) => folded.add(lane.id));
    lanes.filter((lane) => lane.kind === "thread" && lane.rows > 8).forEach((lane) => folded.add(lane.id));
    if (lanes.length > 400) lanes.filter((lane) => lane.kind === "node").slice(1).forEach((lane) => folded.add(lane.id));
  };
  const prepare = () => {
    const depths = lanes.map((lane) => lane.isGroup = ["node", "rank", "host", "gpu"].includes(lane.kind));
    lanes.forEach((lane) => { lane.mini = []; });
    lanes.filter((lane) => lane.kind === "stream").forEach((lane) => {
      for (let at = lane.parent; at !== null; at = lanes[at].parent) if (lanes[at].mini.length < MOST_MINI) lanes[at].mini.push(lane);
    });
    return depths;
  };
  const listSteps = async () => {
    const own = lanes.filter((lane) => lane.kind === "steps");
    await loadAll(own);
    const { length_ns: all } = data.header;
    steps = own.flatMap((lane) => file.pieces(lane, 0, all).flatMap(([{ level, rows }, from, to]) => (rows || []).flatMap((row, depth) =>
      Array.from(row.start, (start, at) => ({ lane, row, depth, at, level, start, end: row.end[at] })).filter((step) => !level || (step.start >= from && step.end <= to && row.a[step.at] === 1))))).sort((a, b) => a.lane.id - b.lane.id || a.start - b.start);
    const first = steps.filter((step) => step.lane === steps[0].lane).slice(0, 2000);
    const windows = document.createElement("optgroup"), list = document.createElement("optgroup");
    windows.label = "Shown in full";
    list.label = "Steps";
    data.header.windows.forEach((item, at) => windows.append(new Option(short(item.why, 60), "w" + at)));
    first.forEach((step, at) => list.append(new Option(`${short(nameOf(step), 40)} · ${length(step.end - step.start)}`, String(at))));
    stepBox.append(...[windows, list].filter((group) => group.children.length));
    part("steps").hidden = !stepBox.querySelector("option[value]:not([value=''])");
  };
  const wake = () => woken = woken || (async () => {
    data = file.open(reportCharts.bytesOf(part("file").textContent));
    lanes = data.header.lanes;
    prepare();
    [names, details] = await Promise.all([data.names(), data.details()]);
    palette = paints();
    foldFirst();
    figure.dataset.lanes = "awake";
    for (const name of ["tools", "box", "hint", "full", "table"]) part(name).hidden = false;
    fit();
    new ResizeObserver(() => { if (box.clientWidth && box.clientWidth !== size.width) fit(); }).observe(box);
    await listSteps();
    const median = data.header.windows.find((item) => /median/.test(item.why)) || data.header.windows[0];
    set(0, data.header.length_ns);
    if (median && median.end - median.start < data.header.length_ns) set(median.start - (median.end - median.start) * 0.05, median.end + (median.end - median.start) * 0.05);
    Promise.all(data.header.arrows.filter((block) => block.n < 50000).map((block) => data.arrows(block).catch(() => failed(block)))).then(request);
    figure.dataset.lanes = "ready";
  })().catch((error) => { problem(`The timeline cannot be read: ${error.message}.`); throw error; });

  canvas.addEventListener("keydown", pressed);
  canvas.addEventListener("pointerdown", down);
  canvas.addEventListener("pointermove", moved);
  ["pointerup", "pointercancel"].forEach((kind) => canvas.addEventListener(kind, up));
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("wheel", wheeled, { passive: false });
  canvas.addEventListener("dblclick", (event) => { const at = place(event), { strip } = hit(at.x, at.y); if (strip) goTo(strip.start, strip.end, 0.5); });
  ["focus", "blur"].forEach((kind) => canvas.addEventListener(kind, request));
  part("tools").addEventListener("click", (event) => {
    const button = event.target.closest("[data-lanes-key]");
    if (button) KEYS[button.dataset.lanesKey]();
  });
  query.addEventListener("input", search);
  query.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); nextHit(event.shiftKey ? -1 : 1); } });
  stepBox.addEventListener("change", () => {
    const { value } = stepBox, item = value[0] === "w" ? data.header.windows[value.slice(1)] : steps[value];
    if (item) goTo(item.start, item.end, 0.05);
  });
  table.addEventListener("toggle", () => { if (table.open) tell(); });
  const repaint = () => { if (palette) { palette = paints(); for (const kind of Object.keys(inks)) delete inks[kind]; request(); } };
  new MutationObserver(repaint).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);

  const state = { frames: [], arrows: 0, waits: [] };
  /** Wait until the frame that was asked for is drawn. */
  const drawn = async () => { while (isDue) await new Promise((done) => setTimeout(done, 1)); };
  /** Wait until nothing moves, nor is unpacked any more. */
  const settled = async () => {
    do {
      await Promise.all(state.waits.splice(0));
      await new Promise((done) => setTimeout(done, 30));
    } while (isDue || target || state.waits.length);
  };
  return { state, settled, drawn, length: () => data.header.length_ns, wake, show, set, choose, hit, xOf, middleOf, contrast, palette: () => palette, view: () => view, lanes: () => lanes, plan: () => plan, folded, kin: () => kin, chosen: () => chosen, marked: () => marked, TOP };
})();
