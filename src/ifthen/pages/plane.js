"use strict";
// The picture of a task whose states cannot be listed: which rule decides over two features, the others fixed.
// It is worked out here, from the rules.

const LEFT = 58, RIGHT = 12, TOP = 8, BOTTOM = 44;  // room for the axes, in pixels
const FINE = 110, COARSE = 40, MOST_WORK = 1.2e6, MANY_RULES = 80, MOST_VALUES = 300, PALETTE = 8;
const MOST_OTHERS = 6, MOST_CHANGES = 6;  // rules that lost, and changes, that are listed

function makePlane({ task, policies, view, shown, both, compared, valueOf, nameOf, placeName, point: pointAtIt, choose, refreshWhy }) {
  const canvas = byId("plane"), pen = canvas.getContext("2d");
  const state = { cells: null, key: "", waiting: false, size: [0, 0], light: null, mark: null, trail: [] };
  Object.assign(view, { axes: policies[0].axes.slice(), fixed: policies[0].middle.slice(), colours: "action", zoomed: false });
  const ink = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const flat = () => view.axes.length === 1;

  // Where values are, in pixels.
  function span(d) {
    const { whole } = task.features[d], [low, high] = view.zoomed ? visitedSpan(d) : [task.features[d].low, task.features[d].high];
    return whole || low === high ? [low - 0.5, high + 0.5] : [low, high];
  }

  function visitedSpan(d) {
    const { low, high, whole } = task.features[d], values = shown().flatMap(policy => policy.visited.map(point => point[d]));
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

  // Cells: between their edges the same rule decides, in lists without terms exactly; elsewhere they are fine.
  function edgesOf(d, reaching) {
    const [low, high] = span(d), ends = new Set([low, high]);
    if (task.features[d].whole && high - low <= MOST_VALUES) return Array.from({ length: high - low + 1 }, (_, i) => low + i);
    for (const [policy, rules] of reaching) {
      const parts = Math.round(Math.min(FINE, Math.max(COARSE, Math.sqrt(MOST_WORK / (rules.length + 1)))));
      if (!policy.ordered || policy.terms.length) for (let i = 1; i < parts; i++) ends.add(low + (high - low) * i / parts);
      if (policy.ordered || rules.length <= MANY_RULES) for (const rule of rules) policy.bounds[rule][d].filter(end => low < end && end < high).forEach(end => ends.add(end));
    }
    return [...ends].sort((a, b) => a - b);
  }

  const middles = (edges, d) => edges.slice(1).map((end, i) => task.features[d].whole ? Math.round((edges[i] + end) / 2) : (edges[i] + end) / 2);

  function reachingRules(policy) {
    return allRules(policy).filter(rule => policy.bounds[rule].every((ends, d) => d >= view.fixed.length || view.axes.includes(d) || holds(ends, view.fixed[d])));
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

  function colour(policy, rule, by = view.colours) {
    if (rule < 0) return "transparent";
    return by === "rule" ? `hsl(${Math.round(hue(rule))} 55% 60%)` : ink(`--action-${policy.actions[rule] % PALETTE}`);
  }

  // Painting.
  function strengthOf(rule) {
    if (!state.light) return 0.62;
    return state.light.decided.includes(rule) ? 1 : 0.2;
  }

  function look(row, column) {
    const [first, second] = state.cells.rules.map(rows => rows[row][column]);
    if (second === undefined) return first < 0 ? null : [colour(shown()[0], first), strengthOf(first)];
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
    shown()[0].visited.forEach((point, n) => {
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

  // The sides of a box along a feature: one, or two where the interval goes round the end of the range.
  function sides([from, to], { low, high, whole }) {
    const half = whole ? 0.5 : 0;
    return (from > to ? [[from, high], [low, to]] : [[from, to]]).map(([first, last]) => [first - half, last + half]);
  }

  function paintBox(rule) {
    const policy = shown()[state.light.policy] ?? shown()[0], [horizontal, vertical] = view.axes, x = across();
    if (slanted(policy, rule)) return;  // no box of the two features shows it
    const parts = (d, place) => sides(policy.bounds[rule][d], task.features[d]).map(ends => ends.map(place));
    pen.strokeStyle = ink("--ink");
    pen.lineWidth = 2.4;
    pen.setLineDash([7, 4]);
    for (const [left, right] of parts(horizontal, x)) {
      for (const [low, top] of flat() ? [[state.size[1] - BOTTOM, TOP]] : parts(vertical, down())) pen.strokeRect(left, top, right - left, low - top);
    }
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

  // Why.
  function reaches(i, rule) {
    return state.cells.reaching[i][1].includes(rule);
  }

  function aboutPoint({ point, rules, over }) {
    const title = make("h2", {}, placeName(point));
    if (over) return [title, make("p", { class: "reason" }, `The episode has ended; no action is asked here (${over}).`)];
    return [title, ...view.shown.flatMap(i => explanation(policies[i], clip(task.features, point), rules?.[i]))];
  }

  function explanation(policy, point, known) {
    const rule = known ?? decider(policy, point), action = actionAt(policy, rule), { reason, order, note } = chooser(policy);
    const why = rule < 0 ? ": no rule matches." : `, by rule ${rule + 1}. ${reason(policy, point, rule, nameOf)}`;
    const parts = [make("p", { class: "reason" }, compared ? `${policy.name}: ` : "", make("b", {}, capital(nameOf(action))), why)];
    if (rule >= 0) parts.push(make("p", {}, make("q", {}, ...ruleText(policy.rules[rule].words))));
    if (policy.terms.length) parts.push(make("ul", { class: "terms" }, ...policy.terms.map(term => make("li", {}, termText(term, point)))));
    const lost = rule < 0 ? [] : matching(policy, point).filter(other => other !== rule);  // stored points are rounded
    lost.sort((a, b) => order(policy, a, point) - order(policy, b, point));
    const items = lost.slice(0, MOST_OTHERS).map(other =>
      make("li", {}, `${other + 1}. `, make("q", {}, ...ruleText(policy.rules[other].words)), note(policy, other, point)));
    if (lost.length > MOST_OTHERS) items.push(make("li", { class: "soft" }, `and ${lost.length - MOST_OTHERS} more`));
    if (lost.length) parts.push(make("h3", {}, "Other rules that match"), make("ul", {}, ...items));
    return [...parts, ...changes(policy, point)];
  }

  // How the value of a term comes about: "error = 0.5·x − y = 0.5·2 − 1 = 0".
  function termText(term, point) {
    const numbers = term.of.map(([d, coefficient], i) => {
      const sign = coefficient < 0 ? (i ? " − " : "−") : i ? " + " : "", size = Math.abs(coefficient) === 1 ? "" : `${full(Math.abs(coefficient))}·`;
      return `${sign}${size}${point[d] < 0 ? `(${full(point[d])})` : full(point[d])}`;
    });
    return `${term.words} = ${numbers.join("")} = ${full(termValue(term, point))}${term.unit && ` ${term.unit}`}`;
  }

  function changes(policy, point) {
    const found = task.features.map((_, d) => [d, nearestChange(policy, task.features, point, d)]).filter(([, change]) => change);
    if (!found.length) return [make("p", { class: "soft" }, "No change of one feature alone would change it.")];
    const lines = found.sort((a, b) => a[1].distance - b[1].distance).slice(0, MOST_CHANGES).map(([d, { sign, end, action, rule }]) =>
      make("li", {}, `${task.features[d].name} ${sign} ${valueOf(d, end)}: ${nameOf(action)}${rule < 0 ? "" : `, by rule ${rule + 1}`}`));
    return [make("h3", {}, "What would change it, one feature alone"), make("ul", { class: "change" }, ...lines)];
  }

  // A rule that the picture does not show, and a way to it.
  function aboutRule(i, rule) {
    const { bounds } = policies[i], place = view.shown.indexOf(i);
    if (place < 0 || (reaches(place, rule) && state.cells.rules[place].some(row => row.includes(rule)))) return [];
    const missed = task.features.map((_, d) => d).filter(d => !view.axes.includes(d) && (view.fixed[d] < bounds[rule][d][0] || view.fixed[d] > bounds[rule][d][1]));
    if (!missed.length) return [make("p", {}, slanted(policies[i], rule) ? "It decides nowhere in this picture." : "In this picture other rules decide wherever it matches.")];
    const button = make("button", { type: "button" }, "Move there"), towards = ([low, high]) => (low + high) / 2;
    button.addEventListener("click", () => slice.fix(view.fixed.map((value, d) => missed.includes(d) ? round(d, towards(bounds[rule][d])) : value)));
    const where = missed.map(d => `${task.features[d].name} is ${valueOf(d, view.fixed[d])} there`).join(", ");
    return [make("p", {}, `The picture does not reach it: ${where}. `, button)];
  }

  const round = (d, value) => task.features[d].whole ? Math.round(value) : Number(value.toPrecision(4));

  function paintLegend() {
    const keys = both() || view.colours === "action" ? task.actions.map((name, action) => key(swatch(`action-${action % PALETTE}`), name)) : [];
    if (!both() && view.colours === "rule") keys.push(make("span", {}, "Each rule has a colour of its own."));
    if (both()) keys.push(key(swatch("differ"), "different actions"));
    if (shown().some(policy => policy.uncovered)) keys.push(key(swatch("nothing"), "no rule matches"));
    if (byId("dots").checked) keys.push(key("·", `states visited${task.features.length > 2 ? ", whatever their other features are" : ""}`));
    byId("legend").replaceChildren(...keys);
  }

  function refresh() {
    work();
    resize();
    paintLegend();
    paint();
    refreshWhy();
  }

  canvas.addEventListener("pointermove", event => { const point = pointAt(event); pointAtIt(point ? { point } : null); });
  canvas.addEventListener("pointerleave", () => pointAtIt(null));
  canvas.addEventListener("click", event => { const point = pointAt(event); if (point) choose({ point }, true); });
  canvas.addEventListener("keydown", event => {
    const here = state.mark ?? withPlane(...view.axes.map(d => view.fixed[d]));
    if (event.key.startsWith("Arrow")) choose({ point: stepped(here, event.key) });
    else if (event.key === "Enter") choose({ point: here }, true);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(resize).observe(canvas.parentElement);
  addEventListener("resize", resize);
  for (const choice of choices("colours")) choice.addEventListener("change", () => { view.colours = choice.value; view.recolour(); });
  byId("zoom").addEventListener("change", () => { view.zoomed = byId("zoom").checked; refresh(); });
  for (const id of ["dots", "borders"]) byId(id).addEventListener("change", () => { paintLegend(); paint(); });
  const slice = makeSlice({
    task, view, valueOf, home: () => shown()[0].middle, where: "the middle of the states visited", up: "up", order: () => shown()[0].order, changed: refresh,
  });
  slice.build();
  work();
  return {
    refresh, aboutPoint, aboutRule, colour,
    areas: [],
    decider: (policy, { point }) => decider(policy, clip(task.features, point)),
    light({ point, played, policy = 0 }, rules) {
      const place = view.shown.indexOf(policy), decided = rules.map(([, rule]) => rule);
      const boxes = decided.filter(rule => place >= 0 && reaches(place, rule));
      state.light = decided.length && place >= 0 ? { policy: place, decided, boxes } : null;
      state.mark = played ? null : point ?? null;  // the trail shows where the episode is
      paint();
    },
    trail(points) { state.trail = points; paint(); },
    show(point) { if (byId("follow").checked) slice.fix(clip(task.features, point)); },
    scroll: () => canvas.scrollIntoView({ block: "center" }),
  };
}
