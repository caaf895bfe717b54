/* Reads the file of the timeline (docs/timeline-format.md) and answers questions about it; draws
   nothing. Times are ns after the file's zero. Gives `reportLaneFile`. */
const reportLaneFile = (() => {
  "use strict";
  const MAGIC = "RGTL0001", HEAD = 12, PROBES = 8;

  /** @typedef {{start: Float64Array, end: Float64Array, reach: Float64Array, sum: Float64Array, name: Float64Array,
      a: Float64Array, b: Float64Array}} Row Strips by start. `reach`: the latest end so far; `sum`: busy ns of
      all before; `a`, `b`: detail and flow, or count and busy ns of runs. */
  /** @typedef {{level: number, from: number, to: number, rows: Row[]}} Block */

  /** Columns of `n` unsigned LEB128 numbers each. @param {Uint8Array} bytes */
  const decode = (bytes, n, nColumns) => {
    let at = 0;
    return Array.from({ length: nColumns }, () => {
      const made = new Float64Array(n);
      for (let i = 0; i < n; i++) {
        let byte = bytes[at++], value = byte & 127, unit = 128;
        while (byte > 127) { byte = bytes[at++]; value += (byte & 127) * unit; unit *= 128; }
        made[i] = value;
      }
      return made;
    });
  };
  const signed = (value) => value % 2 ? -(value + 1) / 2 : value / 2;
  /** Turn zigzag differences into values, in place. */
  const summed = (column, from) => {
    let value = from;
    for (let at = 0; at < column.length; at++) column[at] = value += signed(column[at]);
    return column;
  };

  /** First index whose value is not below (`lowest`) or is above (`above`) a limit, in a rising column. */
  const lowest = (column, limit, low = 0, high = column.length) => {
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (column[middle] < limit) low = middle + 1; else high = middle;
    }
    return low;
  };
  const above = (column, limit) => {
    let low = 0, high = column.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (column[middle] <= limit) low = middle + 1; else high = middle;
    }
    return low;
  };

  /** @returns {Row[]} the strips of a block, row by row */
  const rowsOf = ([start, duration, row, name, a, b], level) => {
    const sizes = [];
    for (const at of row) sizes[at] = (sizes[at] || 0) + 1;
    const rows = Array.from(sizes, (size = 0) => ({
      n: 0, start: new Float64Array(size), end: new Float64Array(size), reach: new Float64Array(size),
      sum: new Float64Array(size + 1), name: new Float64Array(size), a: new Float64Array(size), b: new Float64Array(size),
    }));
    for (let i = 0; i < start.length; i++) {
      const to = rows[row[i]], at = to.n++, end = start[i] + duration[i];
      to.start[at] = start[i];
      to.end[at] = end;
      to.reach[at] = at ? Math.max(to.reach[at - 1], end) : end;
      to.sum[at + 1] = to.sum[at] + (level ? b[i] : duration[i]);
      to.name[at] = name[i];
      to.a[at] = a[i];
      to.b[at] = b[i];
    }
    return rows;
  };

  /** Tell what to draw of a row between two times: each strip of at least `unit` ns alone, shorter ones that begin in
      the same column of `unit` ns together. Columns are anchored at time 0: they stand still while one pans.
      @param {(at: number, next: number) => void} tell strips `at` up to `next`, which is not one of them */
  const eachMark = (row, from, to, unit, tell) => {
    const { start, end } = row, stop = lowest(start, to);
    let at = above(row.reach, from);
    while (at < stop) {
      let next = at + 1;
      if (end[at] - start[at] < unit) {
        const edge = (Math.floor(start[at] / unit) + 1) * unit;
        let leap = 1;
        while (next < stop && start[next] < edge) { next += leap; leap *= 2; }
        next = lowest(start, edge, Math.max(at + 1, next - leap / 2), Math.min(next, stop));
        if (next - at > 1 && end[next - 1] - start[next - 1] >= unit) next--;
      }
      tell(at, next);
      at = next;
    }
  };
  /** The longest of some strips, of a few of them where they are many: names their column. */
  const longest = ({ start, end }, at, next) => {
    const leap = Math.max(1, (next - at) >> 3);
    let found = at;
    for (let i = at; i < next; i += leap) if (end[i] - start[i] > end[found] - start[found]) found = i;
    return found;
  };

  /** What of a lane is known in a range: [block, from, to], runs first; in a gap between full windows only runs. An
      event stands where it begins, so what reaches into the range may stand in an earlier block. */
  const pieces = (lane, from, to) => {
    const reaches = ({ rows }) => lane.kind !== "counter" && (!rows || rows.some((row) => row.n && row.reach[row.n - 1] > from));
    const full = lane.blocks.filter((block) => !block.level && block.from < to && (block.to > from || reaches(block)));
    const gaps = [];
    let at = from;
    full.filter((block) => block.to > from).sort((a, b) => a.from - b.from)
      .forEach((block) => { if (block.from > at) gaps.push([at, block.from]); at = Math.max(at, block.to); });
    if (at < to) gaps.push([at, to]);
    const runs = lane.blocks.filter((block) => block.level && block.to > from && block.from < to);
    return runs.flatMap((block) => gaps.map(([start, end]) => [block, Math.max(start, block.from), Math.min(end, block.to)]))
      .filter(([, start, end]) => end > start).concat(full.map((block) => [block, Math.max(block.from, from), Math.min(block.to, to)]));
  };
  /** From where strips of a piece are looked for, and to where: an event stands in the block of its window, and may
      reach out of it on both sides; a run is cut. */
  const span = ([block, start, end], from, to) => block.level ? [start, end] : [from, to];

  /** What lanes do in a range: by lane and name how many events begin before its end and end after its begin, and for
      how long within it. Of runs, which may be cut, the share that lies in the range. */
  const tally = (lane, from, to) => {
    const found = new Map();
    pieces(lane, from, to).forEach((piece) => {
      const { level, rows } = piece[0], [start, end] = span(piece, from, to);
      (rows || []).forEach((row) => {
        for (let i = above(row.reach, start), stop = lowest(row.start, end); i < stop; i++) {
          const inside = Math.min(row.end[i], end) - Math.max(row.start[i], start);
          if (inside < 0 || (inside === 0 && row.end[i] > row.start[i])) continue;
          const key = level ? -1 - row.name[i] : row.name[i];
          const sum = found.get(key) || { name: row.name[i], isRun: level > 0, n: 0, ns: 0 };
          const share = row.end[i] > row.start[i] ? inside / (row.end[i] - row.start[i]) : 1;
          sum.n += level ? row.a[i] * share : 1;
          sum.ns += level ? row.b[i] * share : inside;
          found.set(key, sum);
        }
      });
    });
    return [...found.values()];
  };

  /** The strips of lanes whose names pass, of full detail, by start. @param {(name: number) => boolean} passes */
  const matches = (lanes, passes) => {
    const found = [];
    lanes.forEach((lane) => lane.blocks.forEach(({ level, rows }) => (level ? [] : rows || []).forEach((row, depth) => {
      for (let at = 0; at < row.name.length; at++) {
        if (passes(row.name[at])) found.push({ lane, row, depth, at, level, start: row.start[at], end: row.end[at] });
      }
    })));
    return found.sort((a, b) => a.start - b.start || a.lane.id - b.lane.id);
  };
  /** The strip of a lane that starts at a time with a flow. */
  const strip = (lane, start, flow) => {
    for (const { level, rows } of lane.blocks) for (const [depth, row] of (level ? [] : rows || []).entries()) {
      for (let at = lowest(row.start, start); row.start[at] === start; at++) {
        if (row.b[at] === flow) return { lane, row, depth, at, level, start, end: row.end[at] };
      }
    }
    return null;
  };
  /** The innermost strip above another in its lane that encloses it and whose name passes. */
  const around = (lane, inner, passes) => {
    for (let depth = inner.depth - 1; depth >= 0; depth--) {
      for (const { level, rows } of lane.blocks) {
        const row = level ? null : rows && rows[depth];
        const at = row ? above(row.start, inner.start) - 1 : -1;
        if (at >= 0 && row.end[at] >= inner.end && passes(row.name[at])) {
          return { lane, row, depth, at, level, start: row.start[at], end: row.end[at] };
        }
      }
    }
    return null;
  };

  /** Where lanes stand one below the other: groups and lanes that no folded group hides.
      @param {(lane: object, isFolded: boolean) => number} heightOf */
  const layout = (lanes, folded, heightOf) => {
    const hidden = new Set(), depths = new Map(), made = [];
    let top = 0;
    lanes.forEach((lane) => {
      const isHidden = lane.parent !== null && (hidden.has(lane.parent) || (folded.has(lane.parent) && lanes[lane.parent].isGroup));
      if (isHidden) { hidden.add(lane.id); return; }
      const depth = lane.parent === null ? 0 : depths.get(lane.parent) + 1, isFolded = folded.has(lane.id);
      const height = heightOf(lane, isFolded);
      depths.set(lane.id, depth);
      made.push({ lane, depth, top, height, isFolded });
      top += height;
    });
    return { entries: made, height: top };
  };

  const inflate = (bytes) =>
    new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();

  /** Open a file. @param {Uint8Array} bytes @throws where it is of another version */
  const open = (bytes) => {
    const text = new TextDecoder();
    if (text.decode(bytes.subarray(0, 8)) !== MAGIC) throw new Error("a file of another version");
    const base = HEAD + new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true);
    const header = JSON.parse(text.decode(bytes.subarray(HEAD, base)));
    const part = ([at, length]) => inflate(bytes.subarray(base + at, base + at + length));
    const texts = (place) => part(place).then((raw) => JSON.parse(text.decode(raw)));
    const once = new Map();
    const only = (key, make) => { if (!once.has(key)) once.set(key, make()); return once.get(key); };
    /** Unpack a block of a lane into its `rows` (a counter: `time` and `value`). */
    const load = (lane, block) => only(block, async () => {
      const raw = new Uint8Array(await part(block.at));
      if (lane.kind === "counter") {
        const [time, value] = decode(raw, block.n, 2);
        block.time = summed(time, block.from);
        block.value = value.map((item) => item / 1000);
        return;
      }
      const columns = decode(raw, block.n, 6);
      summed(columns[0], block.from);
      block.rows = rowsOf(columns, block.level);
    });
    /** Unpack arrows. @returns {Promise<{flow, fromLane, fromStart, toLane, toStart}>} columns */
    const arrows = (block) => only(block, async () => {
      const [flow, fromLane, fromStart, toLane, toStart] = decode(new Uint8Array(await part(block.at)), block.n, 5);
      summed(fromStart, block.from);
      for (let at = 0; at < block.n; at++) toStart[at] = fromStart[at] + signed(toStart[at]);
      return Object.assign(block, { flow, fromLane, fromStart, toLane, toStart });
    });
    return { header, load, arrows, names: () => only("names", () => texts(header.names)),
      details: () => only("details", () => texts(header.details)) };
  };

  return { open, decode, signed, summed, lowest, above, rowsOf, eachMark, longest, pieces, span, tally, matches, strip, around, layout };
})();
