"use strict";
// The picture of a task whose states are listed: a grid of states, and everything that is known of each.

const DIRECTIONS = {
  Left: "Left", West: "Left", Right: "Right", East: "Right", Up: "Up", North: "Up", Down: "Down", South: "Down",
  "go north": "Up", "go northeast": "Up-right", "go east": "Right", "go southeast": "Down-right",
  "go south": "Down", "go southwest": "Down-left", "go west": "Left", "go northwest": "Up-left",
};
const LAYERS = {
  decider: "the number of the rule that decides, each rule in a colour of its own",
  value: "expected return from here on",
  best: "expected return of an optimal policy from here on",
  cost: "expected return that this action costs if all others are optimal",
  density: "number of matching rules that propose the action taken",
  visits: "visits expected in an episode",
  plain: "",
};
const MOST_NUMBERED = 16;  // columns that are wide enough for numbers

function makeGrid({ task, policies, view, shown, both, compared, valueOf, nameOf, placeName, seen, choose, refreshWhy, startAt }) {
  const board = byId("board"), start = task.points[task.starts[0]];
  const placeAt = new Map(task.points.map((point, place) => [point.join(), place]).reverse());  // the first of equals
  // On a map the place of a state is its cell; elsewhere two of its features are.
  const spots = task.cells ?? task.points, spotAt = task.cells ? new Map(spots.map((spot, place) => [spot.join(), place])) : placeAt;
  task.points.forEach((point, place) => { point.place = place; });
  const layers = { one: "decider", both: "plain" };
  let cells = new Map(), trail = [];
  [view.axes, view.fixed] = [task.axes.slice(), start.slice()];
  for (const policy of policies) policy.episodes = policy.episodes.map(episode => unfolded(policy, episode));

  const mode = () => both() ? "both" : "one";  // each has a layer of its own
  const layer = () => layers[mode()];
  const decides = place => place < task.decisions;
  const placeOf = ({ place, point }) => place ?? point.place ?? placeAt.get(point.join());
  const differ = place => compared && decides(place) && policies[0].chosen[place] !== policies[1].chosen[place];

  // An episode is stored as places; the player needs a point, a rule, an action and a reward for each step.
  function unfolded(policy, episode) {
    const { path, slips, usual, over } = episode, steps = path.slice(0, -1), returns = [0];
    const rewards = steps.map((_, t) => episode.rewards[t] ?? usual);
    rewards.reduce((discount, reward) => { returns.push(returns.at(-1) + discount * reward); return discount * task.gamma; }, 1);
    return {
      ...episode, rewards, returns, slips: new Set(slips), times: path.map((_, t) => t), points: path.map(place => task.points[place]),
      rules: steps.map(place => policy.decider[place]), actions: steps.map(place => policy.chosen[place]), over,
    };
  }

  function valuesOf(d) {
    const { low, high } = task.features[d];
    return Array.from({ length: high - low + 1 }, (_, i) => low + i);
  }

  function placesOf(policy, rule) {
    const places = new Map();
    for (let place = 0; place < task.decisions; place++) {
      if (policy.decider[place] === rule) places.set(place, "decided");
      else if (inside(policy, rule, task.points[place])) places.set(place, "match");
    }
    return places;
  }

  // Layers: a number per place; of two policies, the second's less the first's.
  const isDifference = () => both() && layer() !== "best";

  function layerValue(place) {
    if (!decides(place) || layer() === "plain" || layer() === "decider") return null;
    if (layer() === "best") return task.best[place];
    const values = shown().map(policy => policy[layer()][place]);
    if (values.includes(null)) return null;
    return both() ? values[1] - values[0] : values[0];
  }

  function layerRange() {
    const values = Array.from({ length: task.decisions }, (_, place) => layerValue(place)).filter(v => v !== null);
    if (!values.length) return null;
    const most = values.reduce((a, b) => Math.max(a, b)), least = values.reduce((a, b) => Math.min(a, b));
    const far = Math.max(most, -least);
    return isDifference() ? [-far, far] : [least > most / 2 ? least : Math.min(0, least), Math.max(0, most)];
  }

  // The grid: a slice through the states along two features, all others fixed.
  const along = axis => task.cells ? Array.from({ length: task.shape[1 - axis] }, (_, i) => i) : valuesOf(view.axes[axis]);

  function coordinates(x, y) {
    if (task.cells) return [x, y];
    const point = view.fixed.slice();
    point[view.axes[0]] = x;
    if (view.axes.length > 1) point[view.axes[1]] = y;
    return point;
  }

  function gridRow(columns, y, label) {
    const row = make("div", { role: "row" }, make("span", { role: "rowheader", class: "axis" }, label));
    for (const x of columns) {
      const place = spotAt.get(coordinates(x, y).join()), none = place === undefined;
      const cell = make("div", { role: "gridcell", class: none ? "cell none" : "cell", tabindex: "-1", "data-place": place, "aria-label": none ? "no state" : undefined });
      if (!none) cells.set(place, cell);
      row.append(cell);
    }
    return row;
  }

  function build() {
    const down = view.axes[1], columns = along(0), names = task.cells ? ["x", "y"] : view.axes.map(d => task.features[d].name);
    const label = names[0] + (down === undefined ? "" : ` across, ${names[1]} down`);
    const rows = down === undefined ? [0] : along(1), look = columns.length > MOST_NUMBERED ? "grid dense" : "grid";
    const grid = make("div", { role: "grid", class: look, "aria-label": `States: ${label}` });
    grid.style.setProperty("--columns", columns.length);
    grid.style.setProperty("--rows", rows.length);
    const heads = ["", ...columns].map(x => make("span", { role: "columnheader", class: "axis" }, `${x}`));
    cells = new Map();
    grid.append(make("div", { role: "row" }, ...heads), ...rows.map(y => gridRow(columns, y, down === undefined ? "" : `${y}`)));
    board.replaceChildren(grid);
    (cells.get(task.starts[0]) ?? grid.querySelector(".cell")).tabIndex = 0;
  }

  function sign(policy, place) {
    if (policy.chosen[place] < 0) return make("span", { class: "act none" }, "∅");
    const name = task.actions[policy.chosen[place]], worse = !policy.optimal[place];
    if (name in DIRECTIONS) return arrow(DIRECTIONS[name], worse);
    return make("span", { class: worse ? "act worse" : "act" }, name.slice(0, 4));
  }

  function signs(place) {
    if (!decides(place) || !byId("arrows").checked) return null;
    const [first, second] = shown().map(policy => sign(policy, place));
    if (both() && differ(place)) return make("span", { class: "two" }, first, second);
    first.classList.toggle("same", both());
    return first;
  }

  const unasked = place => ({ H: task.hole, G: "goal", O: "wall" }[task.letters[place]] ?? task.never[place] ?? "no action is asked for");

  function labelOf(place) {
    if (!decides(place)) return `${placeName(task.points[place])}: ${unasked(place)}`;
    const said = shown().map(policy => {
      const rule = policy.decider[place] < 0 ? "" : `, rule ${policy.decider[place] + 1}`;
      return `${compared ? `${policy.name} ` : ""}${nameOf(policy.chosen[place])}${rule}`;
    });
    const value = layerValue(place);
    return [placeName(task.points[place]) + ": " + said.join("; "), ...(value === null ? [] : [full(value)])].join("; ");
  }

  function paintCell(place, cell, limits) {
    const rule = shown()[0].decider[place], value = layerValue(place), letter = task.letters[place];
    const tinted = layer() === "decider" && decides(place) && rule >= 0;
    const text = tinted ? `${rule + 1}` : short(value), scaled = value !== null, split = isDifference();
    setClasses(cell, {
      end: !decides(place), never: place in task.never, H: letter === "H", G: letter === "G", O: letter === "O", numbered: text !== "", tinted,
      differs: both() && differ(place), scaled: scaled && !split, more: scaled && split && value >= 0, less: scaled && split && value < 0,
    });
    if (tinted) cell.style.setProperty("--hue", hue(rule));
    if (scaled) {
      const [low, high] = limits, part = split ? Math.abs(value) / (high || 1) : (value - low) / (high - low || 1);
      cell.style.setProperty("--part", 100 * part);
    }
    cell.setAttribute("aria-label", labelOf(place));
    const first = letter === "S" ? make("span", { class: "start", "aria-hidden": "true" }, "S") : null;
    const number = text ? make("span", { class: "number", "aria-hidden": "true" }, text) : null;
    cell.replaceChildren(...[first, signs(place), number].filter(Boolean));
  }

  function paintBorders() {
    const { decider } = shown()[0], drawn = byId("borders").checked && !both();
    for (const [place, cell] of cells) {
      const [x, y] = task.cells ? spots[place] : view.axes.map(d => task.points[place][d]);
      for (const [name, dx, dy] of [["el", -1, 0], ["er", 1, 0], ["et", 0, -1], ["eb", 0, 1]]) {
        const other = spotAt.get(coordinates(x + dx, y + dy).join());
        const apart = other !== undefined && decides(place) && decides(other) && decider[place] !== decider[other];
        cell.classList.toggle(name, drawn && apart);
      }
    }
  }

  function paintCells() {
    const limits = layerRange();
    for (const [place, cell] of cells) paintCell(place, cell, limits);
    paintLegend(limits);
  }

  function paintLegend(limits) {
    const parts = [], { optimal, chosen } = shown()[0], part = text => make("span", {}, text);
    if (byId("arrows").checked && !both()) {
      if (optimal.includes(0)) parts.push(key(arrow("Right"), "optimal"), key(arrow("Right", true), "not optimal"));
      if (chosen.includes(-1)) parts.push(key("∅", "no rule matches"));
    }
    if (both()) parts.push(part(`Framed: different actions, ${policies[0].name} left, ${policies[1].name} right.`));
    if (limits) {
      const bar = make("span", { class: isDifference() ? "bar-scale both" : "bar-scale" });
      parts.push(make("span", { class: "scale" }, short(limits[0]), bar, short(limits[1])));
    }
    const less = limits && isDifference() ? `: ${policies[1].name} less ${policies[0].name}` : "";
    if (LAYERS[layer()]) parts.push(part(`${capital(LAYERS[layer()])}${less}.`));
    const letters = new Set(task.letters), never = [...new Set(Object.values(task.never))];
    if (letters.has("S")) parts.push(key(make("b", {}, "S"), "start"));
    if (letters.has("G")) parts.push(key(swatch("G"), "goal"));
    if (letters.has("H")) parts.push(key(swatch("H"), task.hole));
    if (letters.has("O")) parts.push(key(swatch("O"), "wall"));
    if (never.length) parts.push(key(swatch("never"), never.length === 1 ? never[0] : "never entered"));
    if (!task.grid && board.querySelector(".cell.end")) parts.push(key(swatch("end"), "no action is asked for"));
    if (board.querySelector(".cell.none")) parts.push(key(swatch("none"), "no state"));
    byId("legend").replaceChildren(...parts);
  }

  function paintTrail() {
    const cellOf = point => cells.get(placeOf({ point }));
    const here = trail.length ? cellOf(trail.at(-1)) : null, been = new Set(trail.slice(0, -1).map(cellOf));
    for (const cell of cells.values()) setClasses(cell, { agent: cell === here, trail: been.has(cell) });
  }

  function refresh() {
    for (const choice of choices("layer")) {
      choice.checked = choice.value === layer();
      if (choice.value === "decider") grey(choice, both());
    }
    grey(byId("borders"), both());
    build();
    paintCells();
    paintBorders();
    paintTrail();
    refreshWhy();
  }

  function grey(input, on) {
    input.disabled = on;
    for (const element of [input, input.parentElement]) element.title = on ? "Only for one policy: choose one above" : "";
  }

  // Why.
  function explanation(policy, place) {
    const { reason, others, more, change } = policy.why[place], rule = policy.decider[place];
    const { value, cost, density, visits } = policy, words = r => make("q", {}, ...ruleText(policy.rules[r].words));
    const numbers = [
      `value ${full(value[place])}`, `optimal value ${full(task.best[place])}`, `cost of the action ${full(cost[place])}`,
      `rules that agree ${full(density[place])}`, `visits ${full(visits[place])}`,
    ];
    const lost = others.map(([r, text]) => make("li", {}, `${r + 1}. `, words(r), ` – ${text}`));
    if (more) lost.push(make("li", {}, `and ${plural(more, "more rule")}`));
    return make("div", {},
      compared ? make("h3", {}, `${policy.name}: ${nameOf(policy.chosen[place])}`) : null,
      make("p", { class: "reason" }, `${capital(reason)}.`),
      rule >= 0 ? make("p", {}, `${rule + 1}. `, words(rule)) : null,
      make("p", { class: "change" }, change),
      make("p", { class: "numbers" }, ...numbers.map(text => make("span", {}, text))),
      ...(lost.length ? [make("h3", {}, "Other rules that match"), make("ul", {}, ...lost)] : []));
  }

  function aboutPoint(subject) {
    const place = placeOf(subject), point = task.points[place];
    if (place === undefined) return [];
    if (!decides(place)) return [make("h2", {}, placeName(point)), make("p", { class: "reason" }, `${capital(unasked(place))}.`)];
    const parts = [make("h2", {}, placeName(point) + (both() ? "" : `: ${nameOf(shown()[0].chosen[place])}`))];
    if (task.cells) parts.push(make("p", { class: "seen" }, `It sees: ${seen(point)}.`));
    parts.push(make("div", { class: both() ? "sides" : "" }, ...shown().map(policy => explanation(policy, place))));
    if (!subject.played && shown()[0].episodes.some(episode => episode.path[0] === place)) {
      const button = make("button", { type: "button" }, "Start an episode here");
      button.addEventListener("click", () => startAt(point));
      parts.push(make("p", {}, button));
    }
    return parts;
  }

  function light(what, rules) {
    const places = new Map();
    for (const [i, rule] of rules) {
      for (const [place, state] of placesOf(policies[i], rule)) if (places.get(place) !== "decided") places.set(place, state);
    }
    board.classList.toggle("lighting", places.size > 0);
    const here = what.point ? placeOf(what) : null;
    for (const element of document.querySelectorAll("[data-place]")) {
      const place = Number(element.dataset.place);
      mark(element, places.get(place));
      element.classList.toggle("here", place === here);
    }
  }

  function move(event) {
    const all = [...board.querySelectorAll(".cell")], at = all.indexOf(event.target.closest(".cell"));
    if (at < 0) return;
    const columns = along(0).length, column = at % columns, first = at - column;
    const to = {
      ArrowLeft: column ? at - 1 : at, ArrowRight: column < columns - 1 ? at + 1 : at,
      ArrowUp: at - columns, ArrowDown: at + columns, Home: first, End: first + columns - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    all[to]?.focus();
  }

  board.addEventListener("keydown", move);
  for (const choice of choices("layer")) {
    choice.addEventListener("change", () => { layers[mode()] = choice.value; paintCells(); });
  }
  byId("arrows").addEventListener("change", paintCells);
  byId("borders").addEventListener("change", paintBorders);
  const order = () => task.features.map((_, d) => d);
  const slice = makeSlice({ task, view, valueOf, home: () => start, where: "the start", up: "down", order, changed: refresh });
  slice.build();
  const table = makeTable({ task, policies, shown, valuesOf, nameOf, differ, refresh: refreshWhy });
  return {
    refresh() { refresh(); table.build(); },
    aboutPoint, light,
    aboutRule: () => [],
    areas: [board, byId("table")],
    subjectOf: ({ place }) => ({ place: Number(place), point: task.points[place] }),
    decider: (policy, what) => decides(placeOf(what)) ? policy.decider[placeOf(what)] : -1,
    colour: (_, rule) => `hsl(${Math.round(hue(rule))} 55% 60%)`,
    trail(points) { trail = points; paintTrail(); },
    show(point) { const place = placeOf({ point }); if (place !== undefined && !cells.has(place)) slice.fix(point); },
    scroll: () => board.scrollIntoView({ block: "center" }),
  };
}
