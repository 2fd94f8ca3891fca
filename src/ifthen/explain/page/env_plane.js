"use strict";
// The picture: what is done over two features, the others fixed. Worked out here, from the rules.

const LEFT = 58, RIGHT = 12, TOP = 8, BOTTOM = 44;  // room for the axes, in pixels
const FINE = 110, COARSE = 40, MOST_WORK = 1.2e6, MANY_RULES = 80, MOST_VALUES = 300, PALETTE = 8;

function makePlane({ task, view, shown, colourOf, moved }) {
  const canvas = byId("plane"), pen = canvas.getContext("2d");
  const state = { cells: null, key: "", waiting: false, size: [0, 0], light: null, mark: null, trail: [] };
  const ink = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const flat = () => view.axes.length === 1;

  // Where values are, in pixels.
  function span(d) {
    const { whole } = task.features[d], [low, high] = view.zoomed ? metSpan(d) : [task.features[d].low, task.features[d].high];
    return whole || low === high ? [low - 0.5, high + 0.5] : [low, high];
  }

  function metSpan(d) {
    const { low, high, whole } = task.features[d], values = shown().flatMap(policy => policy.met.map(point => point[d]));
    const least = Math.min(...values), most = Math.max(...values), room = whole ? 1 : 0.15 * (most - least) || (high - low) / 20;
    return [Math.max(low, least - room), Math.min(high, most + room)];
  }

  const scale = (d, from, to) => { const [low, high] = span(d); return value => from + (value - low) / (high - low) * (to - from); };
  const back = (d, from, to) => { const [low, high] = span(d); return place => low + (place - from) / (to - from) * (high - low); };
  const frame = () => [LEFT, state.size[0] - RIGHT, state.size[1] - BOTTOM, TOP];
  const across = () => scale(view.axes[0], ...frame().slice(0, 2));
  const down = () => flat() ? () => (TOP + state.size[1] - BOTTOM) / 2 : scale(view.axes[1], ...frame().slice(2));

  function withPlane(x, y) {
    const point = view.fixed.slice();
    point[view.axes[0]] = x;
    if (!flat()) point[view.axes[1]] = y;
    return point;
  }

  // Cells: between their edges the same rule decides, in lists exactly; elsewhere they are fine.
  function edgesOf(d, reaching) {
    const [low, high] = span(d), ends = new Set([low, high]);
    if (task.features[d].whole && high - low <= MOST_VALUES) return Array.from({ length: high - low + 1 }, (_, i) => low + i);
    for (const [policy, rules] of reaching) {
      const parts = Math.round(Math.min(FINE, Math.max(COARSE, Math.sqrt(MOST_WORK / (rules.length + 1)))));
      if (policy.kind !== "decision-list") for (let i = 1; i < parts; i++) ends.add(low + (high - low) * i / parts);
      if (policy.kind === "decision-list" || rules.length <= MANY_RULES) for (const rule of rules) policy.bounds[rule][d].filter(end => low < end && end < high).forEach(end => ends.add(end));
    }
    return [...ends].sort((a, b) => a - b);
  }

  const middles = (edges, d) => edges.slice(1).map((end, i) => task.features[d].whole ? Math.round((edges[i] + end) / 2) : (edges[i] + end) / 2);

  function reachingRules(policy) {
    return allRules(policy).filter(rule => policy.bounds[rule].every(([low, high], d) => view.axes.includes(d) || (low <= view.fixed[d] && view.fixed[d] <= high)));
  }

  function work() {
    const key = JSON.stringify([view.axes, view.shown, view.zoomed, view.fixed.filter((_, d) => !view.axes.includes(d))]);
    if (key === state.key) return;
    state.key = key;
    const reaching = shown().map(policy => [policy, reachingRules(policy)]);
    const xs = edgesOf(view.axes[0], reaching), ys = flat() ? [0, 1] : edgesOf(view.axes[1], reaching);
    const columns = middles(xs, view.axes[0]), rows = flat() ? [0] : middles(ys, view.axes[1]);
    const rules = reaching.map(([policy, among]) => rows.map(y => columns.map(x => decider(policy, withPlane(x, y), among))));
    state.cells = { xs, ys, rules, reaching };
  }

  // Painting.
  const coloured = rule => colourOf(shown()[0], rule);

  function strengthOf(rule) {
    if (!state.light) return 0.62;
    return state.light.decided.includes(rule) ? 1 : 0.2;
  }

  function look(row, column) {
    const [first, second] = state.cells.rules.map(rows => rows[row][column]);
    if (second === undefined) return first < 0 ? null : [coloured(first), strengthOf(first)];
    const actions = [actionAt(shown()[0], first), actionAt(shown()[1], second)];
    if (actions[0] !== actions[1]) return [ink("--agent"), 0.75];
    return actions[0] < 0 ? null : [ink(`--action-${actions[0] % PALETTE}`), 0.28];
  }

  function paintCells() {
    const { xs, ys, rules } = state.cells, x = across(), y = down(), wide = rules[0][0].length;
    const rowEdges = flat() ? [state.size[1] - BOTTOM, TOP] : ys.map(y), ratio = devicePixelRatio;
    const sharp = place => Math.round(place * ratio) / ratio;
    rules[0].forEach((_, r) => {
      for (let from = 0, to; from < wide; from = to) {
        const first = look(r, from), same = c => rules.every(rows => rows[r][c] === rows[r][from]);
        for (to = from + 1; to < wide && same(to); to++);
        const [left, right, top, low] = [x(xs[from]), x(xs[to]), rowEdges[r + 1], rowEdges[r]].map(sharp);
        if (!first) hatch(left, top, right - left, low - top);
        else { pen.globalAlpha = first[1]; pen.fillStyle = first[0]; pen.fillRect(left, top, right - left, low - top); }
      }
    });
    pen.globalAlpha = 1;
  }

  function hatch(left, top, width, height) {  // no rule matches
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    pen.globalAlpha = 0.5;
    pen.strokeStyle = ink("--bad");
    pen.lineWidth = 1;
    pen.beginPath();
    const [from, to] = frame(), step = 9, tall = state.size[1];
    for (let i = from - tall; i < to; i += step) { pen.moveTo(i, tall); pen.lineTo(i + tall, 0); }
    pen.stroke();
    pen.restore();
  }

  function paintBorders() {
    const { xs, ys, rules: [rules] } = state.cells, x = across(), y = down();
    pen.strokeStyle = ink("--ink");
    pen.lineWidth = 1.1;
    pen.beginPath();
    rules.forEach((row, r) => row.forEach((rule, c) => {
      const [top, low] = flat() ? [TOP, state.size[1] - BOTTOM] : [y(ys[r + 1]), y(ys[r])];
      if (c && row[c - 1] !== rule) { pen.moveTo(x(xs[c]), top); pen.lineTo(x(xs[c]), low); }
      if (r && rules[r - 1][c] !== rule) { pen.moveTo(x(xs[c]), low); pen.lineTo(x(xs[c + 1]), low); }
    }));
    pen.stroke();
  }

  // A rule's number stands in the cell of its own that is nearest to the middle of all of them.
  function paintNumbers() {
    const { xs, ys, rules: [rules] } = state.cells, x = across(), y = down(), sums = new Map();
    const box = (r, c) => [x(xs[c]), x(xs[c + 1]), ...(flat() ? [state.size[1] - BOTTOM, TOP] : [y(ys[r]), y(ys[r + 1])])];
    rules.forEach((row, r) => row.forEach((rule, c) => {
      const [left, right, low, top] = box(r, c), area = (right - left) * (low - top), own = sums.get(rule) ?? { area: 0, x: 0, y: 0, cells: [] };
      own.area += area; own.x += area * (left + right) / 2; own.y += area * (low + top) / 2;
      own.cells.push([left, right, low, top]);
      sums.set(rule, own);
    }));
    pen.font = "600 13px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (const [rule, { area, x: across, y: along, cells }] of sums) {
      if (area < 320) continue;
      const centre = [across / area, along / area], clamp = (low, v, high) => Math.min(Math.max(low, v), high);
      const places = cells.map(([left, right, low, top]) => {
        const pad = Math.min(9, (right - left) / 2), high = Math.min(9, (low - top) / 2);
        return [clamp(left + pad, centre[0], right - pad), clamp(top + high, centre[1], low - high)];
      });
      const far = ([a, b]) => Math.hypot(a - centre[0], b - centre[1]), [a, b] = places.reduce((best, place) => far(place) < far(best) ? place : best);
      label(rule < 0 ? "∅" : `${rule + 1}`, a, b);
    }
  }

  function label(text, x, y) {
    pen.lineWidth = 3.5;
    pen.lineJoin = "round";
    pen.strokeStyle = ink("--paper");
    pen.strokeText(text, x, y);
    pen.fillStyle = ink("--ink");
    pen.fillText(text, x, y);
  }

  const spot = point => [across()(point[view.axes[0]]), flat() ? down()() : down()(point[view.axes[1]])];

  function paintDots() {
    pen.fillStyle = ink("--ink");
    pen.globalAlpha = 0.28;
    shown()[0].met.forEach((point, n) => {
      const [x, y] = spot(point);
      pen.beginPath();
      pen.arc(x + jitter(n, 0), y + jitter(n, 1), 1.5, 0, 7);
      pen.fill();
    });
    pen.globalAlpha = 1;
  }

  // Points of whole numbers lie on top of each other: they are moved a little, always in the same way.
  function jitter(n, i) {
    const d = view.axes[i];
    if (d !== undefined && !task.features[d].whole) return 0;
    const noise = (n + 1) * (i ? 0.7548776662466927 : 0.5698402909980532);
    return (noise % 1 - 0.5) * 18;
  }

  function paintTrail() {
    if (!state.trail.length) return;
    pen.strokeStyle = ink("--agent");
    pen.lineWidth = 1.6;
    pen.globalAlpha = 0.8;
    pen.beginPath();
    state.trail.forEach((point, i) => pen[i ? "lineTo" : "moveTo"](...spot(point)));
    pen.stroke();
    pen.globalAlpha = 1;
    ring(state.trail.at(-1), 6);
  }

  function ring(point, size) {
    const [x, y] = spot(point);
    pen.beginPath();
    pen.arc(x, y, size, 0, 7);
    pen.fillStyle = ink("--agent");
    pen.fill();
    pen.lineWidth = 2;
    pen.strokeStyle = ink("--paper");
    pen.stroke();
  }

  function paintMark() {
    const [x, y] = spot(state.mark);
    pen.strokeStyle = ink("--ink");
    pen.lineWidth = 1;
    pen.setLineDash([3, 3]);
    pen.beginPath();
    pen.moveTo(LEFT, y); pen.lineTo(state.size[0] - RIGHT, y); pen.moveTo(x, TOP); pen.lineTo(x, state.size[1] - BOTTOM);
    pen.stroke();
    pen.setLineDash([]);
    pen.beginPath();
    pen.arc(x, y, 5, 0, 7);
    pen.lineWidth = 2.2;
    pen.stroke();
  }

  function paintBox(rule) {
    const policy = shown()[state.light.policy] ?? shown()[0], [horizontal, vertical] = view.axes, x = across();
    const half = d => task.features[d].whole ? 0.5 : 0, bounds = policy.bounds[rule];
    const xs = [bounds[horizontal][0] - half(horizontal), bounds[horizontal][1] + half(horizontal)].map(x);
    const ys = flat() ? [state.size[1] - BOTTOM, TOP] : [bounds[vertical][0] - half(vertical), bounds[vertical][1] + half(vertical)].map(down());
    pen.strokeStyle = ink("--ink");
    pen.lineWidth = 2.4;
    pen.setLineDash([7, 4]);
    pen.strokeRect(xs[0], ys[1], xs[1] - xs[0], ys[0] - ys[1]);
    pen.setLineDash([]);
  }

  function paintAxes() {
    const [left, right, low, top] = frame();
    pen.strokeStyle = ink("--soft");
    pen.lineWidth = 1;
    pen.strokeRect(left, top, right - left, low - top);
    pen.fillStyle = ink("--soft");
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "top";
    for (const value of ticks(view.axes[0])) pen.fillText(full(value), across()(value), low + 5);
    pen.fillText(axisName(view.axes[0]), (left + right) / 2, low + 24);
    if (flat()) return;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const value of ticks(view.axes[1])) pen.fillText(full(value), left - 6, down()(value));
    pen.save();
    pen.translate(11, (top + low) / 2);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "center";
    pen.fillText(axisName(view.axes[1]), 0, 0);
    pen.restore();
  }

  const axisName = d => task.features[d].name + (task.features[d].unit && ` (${task.features[d].unit})`);

  function ticks(d) {
    const { whole } = task.features[d], [low, high] = span(d), unit = 10 ** Math.floor(Math.log10((high - low || 1) / 5));
    let step = [1, 2, 5, 10].map(factor => unit * factor).find(size => (high - low) / size <= 7) ?? unit * 10;
    if (whole) step = Math.max(1, Math.round(step));
    const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
    return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(6)));
  }

  // Once per frame, however much has changed.
  function paint() {
    if (state.waiting) return;
    state.waiting = true;
    requestAnimationFrame(() => { state.waiting = false; paintNow(); });
  }

  function paintNow() {
    if (!state.cells || !state.size[0]) return;
    const [wide, tall] = state.size, ratio = devicePixelRatio;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, wide, tall);
    paintCells();
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, TOP, wide - LEFT - RIGHT, tall - TOP - BOTTOM);
    pen.clip();
    if (byId("dots").checked) paintDots();
    if (byId("borders").checked && shown().length === 1) paintBorders();
    if (state.light) state.light.boxes.forEach(paintBox);
    if (shown().length === 1) paintNumbers();
    paintTrail();
    if (state.mark) paintMark();
    pen.restore();
    paintAxes();
  }

  function resize() {
    const wide = canvas.parentElement.clientWidth, tall = Math.round(flat() ? 150 : Math.min(wide * 0.8, Math.max(300, innerHeight - 380)));
    if (!wide || (wide === state.size[0] && tall === state.size[1])) return;
    state.size = [wide, tall];
    canvas.style.height = `${tall}px`;
    canvas.width = Math.round(wide * devicePixelRatio);
    canvas.height = Math.round(tall * devicePixelRatio);
    paintNow();  // a canvas of another size is empty
  }

  // What is pointed at.
  function pointAt(event) {
    const box = canvas.getBoundingClientRect(), [left, right, low, top] = frame();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    if (x < left || x > right || y < top || y > low) return null;
    return tidy(withPlane(back(view.axes[0], left, right)(x), flat() ? 0 : back(view.axes[1], low, top)(y)));
  }

  function tidy(point) {
    return clip(task.features, point.map((value, d) => {
      if (!view.axes.includes(d)) return value;
      return task.features[d].whole ? Math.round(value) : Number(value.toPrecision(4));
    }));
  }

  function stepped(point, key) {
    const [i, sign] = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowDown: [1, -1], ArrowUp: [1, 1] }[key], d = view.axes[i];
    if (d === undefined) return point;
    const { low, high, whole } = task.features[d], next = point.slice();
    next[d] += sign * (whole ? 1 : (high - low) / 50);
    return tidy(next);
  }

  canvas.addEventListener("pointermove", event => moved("point", pointAt(event)));
  canvas.addEventListener("pointerleave", () => moved("leave"));
  canvas.addEventListener("click", event => { const point = pointAt(event); if (point) moved("pin", point); });
  canvas.addEventListener("keydown", event => {
    const here = state.mark ?? withPlane(...view.axes.map(d => view.fixed[d]));
    if (event.key.startsWith("Arrow")) moved("choose", state.mark ? stepped(here, event.key) : tidy(here));
    else if (event.key === "Enter") moved("pin", here);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(resize).observe(canvas.parentElement);
  addEventListener("resize", resize);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);

  return {
    refresh() { work(); resize(); paint(); },
    reaches: (i, rule) => state.cells.reaching[i][1].includes(rule),
    decides: (i, rule) => state.cells.rules[i].some(row => row.includes(rule)),
    paint,
    light(light) { state.light = light; paint(); },
    mark(point) { state.mark = point; paint(); },
    trail(points) { state.trail = points; paint(); },
  };
}
