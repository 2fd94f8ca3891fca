"use strict";
// The page: a grid of states, the rules, and why; what is pointed at in one of them lights up in the others.
(() => {
  const { task, policies, findings } = JSON.parse(byId("data").textContent);
  const board = byId("board"), why = byId("why"), lists = byId("lists");
  const DIRECTIONS = {
    Left: "Left", West: "Left", Right: "Right", East: "Right", Up: "Up", North: "Up", Down: "Down", South: "Down",
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
  const LONG_LIST = 60, MOST_NUMBERED = 16;  // rules that are listed at once, columns wide enough for numbers
  const compared = policies.length === 2;
  const view = { shown: [0], layers: { one: "decider", both: "plain" }, axes: task.axes.slice(), fixed: task.points[task.starts[0]].slice() };
  const placeAt = new Map(task.points.map((point, place) => [point.join(), place]).reverse());  // the first of equals
  let cells = new Map(), pointed = null, chosen = null, pinned = false, boardSeen = true;

  // What is where.
  const shown = () => view.shown.map(i => policies[i]);
  const both = () => view.shown.length === 2;
  const mode = () => both() ? "both" : "one";  // each has a layer of its own
  const layer = () => view.layers[mode()];
  const decides = place => place < task.decisions;
  const cellOf = place => cells.get(placeAt.get(task.points[place].join()));
  const valueOf = (place, d) => `${task.points[place][d]}${task.features[d].unit && ` ${task.features[d].unit}`}`;
  const nameOf = place => task.features.map((f, d) => `${f.name} = ${valueOf(place, d)}`).join(", ");
  const actionOf = (policy, place) => policy.action[place] < 0 ? "no action" : task.actions[policy.action[place]];
  const differ = place => compared && decides(place) && policies[0].action[place] !== policies[1].action[place];

  function valuesOf(d) {
    const { low, high } = task.features[d];
    return Array.from({ length: high - low + 1 }, (_, i) => low + i);
  }

  function matches(policy, rule, place) {
    return policy.bounds[rule].every(([low, high], d) => low <= task.points[place][d] && task.points[place][d] <= high);
  }

  function placesOf(policy, rule) {
    const matched = [], decided = [];
    for (let place = 0; place < task.decisions; place++) {
      if (policy.decider[place] === rule) decided.push(place);
      else if (matches(policy, rule, place)) matched.push(place);
    }
    return { matched, decided };
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
  function coordinates(x, y) {
    const point = view.fixed.slice();
    point[view.axes[0]] = x;
    if (view.axes.length > 1) point[view.axes[1]] = y;
    return point;
  }

  function gridRow(columns, y, label) {
    const row = make("div", { role: "row" }, make("span", { role: "rowheader", class: "axis" }, label));
    for (const x of columns) {
      const place = placeAt.get(coordinates(x, y).join());
      const cell = make("div", { role: "gridcell", class: place === undefined ? "cell none" : "cell", tabindex: "-1", "data-place": place });
      if (place === undefined) cell.setAttribute("aria-label", "no state");
      else cells.set(place, cell);
      row.append(cell);
    }
    return row;
  }

  function buildGrid() {
    const [across, down] = view.axes, columns = valuesOf(across), names = view.axes.map(d => task.features[d].name);
    const label = names[0] + (down === undefined ? "" : ` across, ${names[1]} down`);
    const rows = down === undefined ? [0] : valuesOf(down), look = columns.length > MOST_NUMBERED ? "grid dense" : "grid";
    const grid = make("div", { role: "grid", class: look, "aria-label": `States: ${label}` });
    grid.style.setProperty("--columns", columns.length);
    grid.style.setProperty("--rows", rows.length);
    const heads = ["", ...columns].map(x => make("span", { role: "columnheader", class: "axis" }, `${x}`));
    cells = new Map();
    const rowsOf = y => gridRow(columns, y, down === undefined ? "" : `${y}`);
    grid.append(make("div", { role: "row" }, ...heads), ...rows.map(rowsOf));
    board.replaceChildren(grid);
    (cells.get(task.starts[0]) ?? grid.querySelector(".cell")).tabIndex = 0;
    paint();
  }

  function sign(policy, place) {
    if (policy.action[place] < 0) return make("span", { class: "act none" }, "∅");
    const name = task.actions[policy.action[place]], worse = !policy.optimal[place];
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

  function labelOf(place) {
    const what = { H: task.hole, G: "goal" }[task.letters[place]] ?? task.never[place];
    if (!decides(place)) return `${nameOf(place)}: ${what ?? "no action is asked for"}`;
    const said = shown().map(policy => {
      const rule = policy.decider[place] < 0 ? "" : `, rule ${policy.decider[place] + 1}`;
      return `${compared ? `${policy.name} ` : ""}${actionOf(policy, place)}${rule}`;
    });
    const value = layerValue(place);
    return [nameOf(place) + ": " + said.join("; "), ...(value === null ? [] : [full(value)])].join("; ");
  }

  function setClasses(cell, classes) {
    for (const [name, on] of Object.entries(classes)) cell.classList.toggle(name, on);
  }

  function paintCell(place, cell, limits) {
    const rule = shown()[0].decider[place], value = layerValue(place), letter = task.letters[place];
    const tinted = layer() === "decider" && decides(place) && rule >= 0;
    const text = tinted ? `${rule + 1}` : short(value), scaled = value !== null, split = isDifference();
    setClasses(cell, {
      end: !decides(place), never: place in task.never, H: letter === "H", G: letter === "G", numbered: text !== "", tinted,
      differs: both() && differ(place), scaled: scaled && !split, more: scaled && split && value >= 0,
      less: scaled && split && value < 0,
    });
    if (tinted) cell.style.setProperty("--hue", hue(rule));
    if (scaled) {
      const [low, high] = limits, part = split ? Math.abs(value) / (high || 1) : (value - low) / (high - low || 1);
      cell.style.setProperty("--part", 100 * part);
    }
    cell.setAttribute("aria-label", labelOf(place));
    const start = letter === "S" ? make("span", { class: "start", "aria-hidden": "true" }, "S") : null;
    const number = text ? make("span", { class: "number", "aria-hidden": "true" }, text) : null;
    cell.replaceChildren(...[start, signs(place), number].filter(Boolean));
  }

  function paintBorders() {
    const { decider } = shown()[0], drawn = byId("borders").checked && !both();
    const steps = [["el", -1, 0], ["er", 1, 0], ["et", 0, -1], ["eb", 0, 1]];
    for (const [place, cell] of cells) {
      const [x, y] = view.axes.map(d => task.points[place][d]);
      for (const [name, dx, dy] of steps) {
        const other = placeAt.get(coordinates(x + dx, y + dy).join());
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

  function paint() {
    paintCells();
    paintBorders();
  }

  function paintLegend(limits) {
    const parts = [], { optimal, action } = shown()[0];
    const part = (...inside) => make("span", {}, ...inside), key = (...inside) => make("span", { class: "key" }, ...inside);
    if (byId("arrows").checked && !both()) {
      if (optimal.includes(0)) parts.push(key(arrow("Right"), " optimal"), key(arrow("Right", true), " not optimal"));
      if (action.includes(-1)) parts.push(key("∅ no rule matches"));
    }
    if (both()) parts.push(part(`Framed: different actions, ${policies[0].name} left, ${policies[1].name} right.`));
    if (limits) {
      const bar = make("span", { class: isDifference() ? "bar-scale both" : "bar-scale" });
      parts.push(make("span", { class: "scale" }, short(limits[0]), bar, short(limits[1])));
    }
    const text = capital(LAYERS[layer()]);
    const less = limits && isDifference() ? `: ${policies[1].name} less ${policies[0].name}` : "";
    if (text) parts.push(part(`${text}${less}.`));
    parts.push(...cellKeys());
    byId("legend").replaceChildren(...parts);
  }

  function cellKeys() {
    const key = (look, text) => make("span", { class: "key" }, make("span", { class: `swatch ${look}` }), ` ${text}`);
    const letters = new Set(task.letters), never = [...new Set(Object.values(task.never))], keys = [];
    if (letters.has("S")) keys.push(make("span", { class: "key" }, make("b", {}, "S"), " start"));
    if (letters.has("G")) keys.push(key("G", "goal"));
    if (letters.has("H")) keys.push(key("H", task.hole));
    if (never.length) keys.push(key("never", never.length === 1 ? never[0] : "never entered"));
    if (!task.grid && board.querySelector(".cell.end")) keys.push(key("end", "no action is asked for"));
    if (board.querySelector(".cell.none")) keys.push(key("none", "no state"));
    return keys;
  }

  function buildSlice() {
    if (task.grid || task.features.length < 2) return;
    const axis = (i, label) => {
      const act = text => {
        view.axes[i] = Number(text);
        if (view.axes[1 - i] === view.axes[i]) view.axes[1 - i] = task.features.findIndex((_, d) => d !== view.axes[i]);
        refreshSlice();
      };
      return make("label", {}, `${label} `, menu(task.features.map((f, d) => [d, f.name]), view.axes[i], act));
    };
    const others = task.features.map((_, d) => d).filter(d => !view.axes.includes(d)).map(d => {
      const act = text => { view.fixed[d] = Number(text); refreshSlice(); };
      const select = menu(valuesOf(d).map(value => [value, value]), view.fixed[d], act, { "data-feature": d });
      return make("label", {}, `${task.features[d].name} = `, select);
    });
    byId("slice").hidden = false;
    byId("slice").replaceChildren(axis(0, "across"), axis(1, "down"), ...others);
  }

  function refreshSlice() {
    buildSlice();
    buildGrid();
    light();
    player.show();
  }

  function bringIntoView(place) {
    if (cellOf(place)) return;
    view.fixed = task.points[place].slice();
    refreshSlice();
  }

  // The rules.
  function buildLists() {
    lists.closest(".pair").classList.toggle("both", both());
    lists.replaceChildren(...view.shown.map(listing));
    light();
  }

  function listing(i) {
    const policy = policies[i], heading = make("h2"), name = compared ? ` of ${policy.name}` : "";
    policy.listing ??= { only: policy.rules.length > LONG_LIST, sorted: policy.kind !== "decision-list" };
    const look = policy.rules[0].notes ? "rules" : "rules bare";
    const rules = make("ul", { role: "listbox", class: look, "aria-label": `Rules${name}`, "data-policy": i });
    const fill = () => {
      const order = rulesToList(policy), all = policy.rules.length;
      heading.textContent = (order.length < all ? `${order.length} of ${all} rules` : plural(all, "rule")) + name;
      rules.replaceChildren(...order.map(rule => ruleItem(policy, rule)));
      if (rules.firstChild) rules.firstChild.tabIndex = 0;
      light();
    };
    const only = tick("only rules that decide", policy.listing.only, on => { policy.listing.only = on; fill(); });
    const sorted = tick("most states first", policy.listing.sorted, on => { policy.listing.sorted = on; fill(); });
    fill();
    const choices = make("div", { class: "choices" }, only, sorted);
    return make("section", { class: "card listing" }, heading, choices, rules, make("p", { class: "note" }, policy.how));
  }

  function rulesToList({ rules, listing }) {
    const order = rules.map((_, rule) => rule).filter(rule => !listing.only || rules[rule].states);
    return listing.sorted ? order.sort((a, b) => rules[b].states - rules[a].states || a - b) : order;
  }

  function ruleItem(policy, rule) {
    const { words, notes, states, steps } = policy.rules[rule], share = percent(states / task.decisions);
    const label = `Rule ${rule + 1}: ${words}. Decides ${share} of the states, ${percent(steps)} of the steps.`;
    const look = states ? "tinted" : "idle", title = `${plural(states, "state")}, ${percent(steps)} of the steps`;
    const options = { role: "option", tabindex: "-1", "data-rule": rule, class: look, "aria-label": label };
    const item = make("li", options, make("span", {}, `${rule + 1}.`), make("span", { class: "rule" }, ...ruleText(words)));
    if (notes) item.append(make("span", { class: "payoff" }, make("small", {}, notes)));
    item.append(make("span", { title }, states ? share : "–"));
    item.style.setProperty("--hue", hue(rule));
    return item;
  }

  // Lighting what is pointed at, or else what is chosen.
  const subject = () => pinned ? chosen : pointed ?? chosen;

  function lightOf(what) {
    const places = new Map(), rules = policies.map(() => new Map());
    const addRule = (i, rule) => {
      const { matched, decided } = placesOf(policies[i], rule);
      for (const place of matched) if (!places.has(place)) places.set(place, "match");
      for (const place of decided) places.set(place, "decided");
      rules[i].set(rule, "decided");
    };
    if (what?.rule !== undefined) addRule(what.policy, what.rule);
    else if (what?.finding !== undefined) findings[what.finding].rules.forEach(rule => addRule(0, rule));
    else if (what && decides(what.place)) {
      for (const i of view.shown) {
        policies[i].rules.forEach((_, rule) => {
          if (!matches(policies[i], rule, what.place)) return;
          rules[i].set(rule, rule === policies[i].decider[what.place] ? "decided" : "match");
        });
      }
    }
    return { places, rules };
  }

  function light() {
    const what = subject(), { places, rules } = lightOf(what);
    board.classList.toggle("lighting", places.size > 0);
    const mark = (element, state) => setClasses(element, { match: state === "match", decided: state === "decided" });
    const rows = [...document.querySelectorAll("#table tr[data-place]")].map(row => [Number(row.dataset.place), row]);
    for (const [place, element] of [...cells, ...rows]) {
      mark(element, places.get(place));
      element.classList.toggle("here", what?.place === place);
    }
    for (const list of lists.querySelectorAll(".rules")) {
      for (const item of list.children) {
        const state = rules[list.dataset.policy].get(Number(item.dataset.rule));
        mark(item, state);
        item.setAttribute("aria-selected", state === "decided");
      }
      const winner = list.querySelector(".decided");
      if (winner && what.rule === undefined) list.scrollTop = winner.offsetTop - list.offsetTop - list.clientHeight / 3;
    }
    for (const button of document.querySelectorAll("[data-finding]")) {
      button.classList.toggle("here", what?.finding === Number(button.dataset.finding));
    }
  }

  // Explaining it in words.
  function explanation(policy, place) {
    const { reason, others, more, change } = policy.why[place], rule = policy.decider[place];
    const parts = compared ? [make("h3", {}, `${policy.name}: ${actionOf(policy, place)}`)] : [];
    parts.push(make("p", { class: "reason" }, `${capital(reason)}.`));
    if (rule >= 0) parts.push(make("p", {}, `${rule + 1}. `, make("q", {}, ...ruleText(policy.rules[rule].words))));
    parts.push(make("p", { class: "change" }, change));
    parts.push(numbersOf(policy, place));
    const words = r => make("q", {}, policy.rules[r].words);
    const lost = others.map(([r, text]) => make("li", {}, `${r + 1}. `, words(r), ` – ${text}`));
    if (more) lost.push(make("li", {}, `and ${plural(more, "more rule")}`));
    if (lost.length) parts.push(make("h3", {}, "Other rules that match"), make("ul", {}, ...lost));
    return make("div", {}, ...parts);
  }

  function numbersOf({ value, cost, density, visits }, place) {
    const texts = [
      `value ${full(value[place])}`, `optimal value ${full(task.best[place])}`, `cost of the action ${full(cost[place])}`,
      `rules that agree ${full(density[place])}`, `visits ${full(visits[place])}`,
    ];
    return make("p", { class: "numbers" }, ...texts.map(text => make("span", {}, text)));
  }

  function explainPlace(place) {
    const action = decides(place) && !both() ? `: ${actionOf(shown()[0], place)}` : "";
    const parts = [make("h2", {}, nameOf(place) + action)];
    if (decides(place)) {
      const texts = shown().map(policy => explanation(policy, place));
      parts.push(make("div", { class: both() ? "sides" : "" }, ...texts));
    } else {
      parts.push(make("p", { class: "reason" }, `${capital(labelOf(place).split(": ").pop())}.`));
    }
    if (shown()[0].episodes.some(episode => episode.path[0] === place)) {
      const button = make("button", { type: "button" }, "Start an episode here");
      button.addEventListener("click", () => player.startAt(place));
      parts.push(make("p", {}, button));
    }
    why.replaceChildren(...parts);
  }

  function explainRule(i, rule) {
    const policy = policies[i], { words, notes, steps } = policy.rules[rule], { matched, decided } = placesOf(policy, rule);
    const shares = `${percent(decided.length / task.decisions)} of the states, ${percent(steps)} of the steps`;
    const total = `${matched.length + decided.length} of ${plural(task.decisions, "state")}`;
    why.replaceChildren(
      make("h2", {}, `Rule ${rule + 1}${compared ? ` of ${policy.name}` : ""}`),
      make("p", {}, make("q", {}, ...ruleText(words))),
      make("p", { class: "reason" }, `It matches ${total} and decides ${decided.length}: ${shares}.`),
      ...(notes ? [make("p", { class: "soft" }, `${policy.noted} ${notes}`)] : []),
    );
  }

  function explain() {
    const what = subject();
    away();
    if (!what) return why.querySelector(".pinned")?.remove();
    if (what.rule !== undefined) explainRule(what.policy, what.rule);
    else if (what.finding === undefined) explainPlace(what.place);
    else why.replaceChildren(make("h2", {}, "Verified"), make("p", { class: "reason" }, findings[what.finding].text));
    if (pinned) why.querySelector("h2").after(pinnedLine());
    why.scrollTop = 0;
    return cue();
  }

  function pinnedLine() {
    const button = make("button", { type: "button" }, "Let go");
    button.addEventListener("click", () => { choose(null); why.focus({ preventScroll: true }); });
    return make("p", { class: "pinned" }, button, " Pinned: it stays until you let go, or choose another.");
  }

  // There is more to read below.
  function cue() {
    why.classList.toggle("cut", why.scrollHeight - why.clientHeight - why.scrollTop > 8);
  }

  // What a rule does, where the grid that shows it is not on the screen.
  function away() {
    const what = chosen, line = byId("away");
    line.hidden = boardSeen || what?.rule === undefined;
    if (line.hidden) return;
    const { matched, decided } = placesOf(policies[what.policy], what.rule), total = matched.length + decided.length;
    line.firstChild.textContent = `Rule ${what.rule + 1} matches ${plural(total, "state")}, decides ${decided.length}.`;
  }

  // Pointing and choosing, by hand or by keys: one tab stop for the grid, one for each list.
  const choices = name => document.querySelectorAll(`input[name=${name}]`);
  const announce = text => { byId("live").textContent = text; };

  function point(what) {
    pointed = what;
    if (pinned) return;
    light();
    explain();
  }

  function choose(what, pin = false) {
    [chosen, pointed, pinned] = [what, null, pin];
    light();
    explain();
  }

  function pinOrLetGo(what) {
    if (pinned && JSON.stringify(what) === JSON.stringify(chosen)) choose(null);
    else chooseAloud(what, true);
  }

  function chooseAloud(what, pin = false) {
    if (what.finding !== undefined) {
      if (!view.shown.includes(0)) choices("view")[0].click();  // findings are about the first policy
      if (what.place !== undefined) bringIntoView(what.place);
    }
    choose(what, pin);
    announce([...why.querySelectorAll("h2, .pinned, .reason, .change")].map(part => part.textContent).join(" "));
  }

  function subjectOf(target) {
    const element = target.closest("[data-place], [data-rule], [data-finding]");
    if (!element) return null;
    const { place, rule, finding } = element.dataset;
    if (rule !== undefined) return { rule: Number(rule), policy: Number(element.closest(".rules").dataset.policy) };
    if (finding !== undefined) return { finding: Number(finding), place: findings[finding].place ?? undefined };
    return { place: Number(place) };
  }

  function listen(area) {
    area.addEventListener("pointerover", event => {
      if (event.pointerType !== "touch") point(subjectOf(event.target));
    });
    area.addEventListener("pointerleave", () => point(null));
    const act = (kind, how) => area.addEventListener(kind, event => {
      const what = subjectOf(event.target);
      if (what) how(what, event);
    });
    act("focusin", what => chooseAloud(what));
    act("click", pinOrLetGo);
    act("keydown", (what, event) => { if (event.key === "Enter" && area !== byId("findings")) pinOrLetGo(what); });
    area.addEventListener("focusin", event => {
      const stop = event.target.closest("[tabindex]");
      if (!stop || stop === area) return;
      for (const other of area.querySelectorAll("[tabindex='0']")) {
        if (other.parentElement === stop.parentElement || area === board) other.tabIndex = -1;
      }
      stop.tabIndex = 0;
    });
  }

  function moveInGrid(event) {
    const all = [...board.querySelectorAll(".cell")], at = all.indexOf(event.target.closest(".cell"));
    if (at < 0) return;
    const columns = valuesOf(view.axes[0]).length, column = at % columns, first = at - column;
    const to = {
      ArrowLeft: column ? at - 1 : at, ArrowRight: column < columns - 1 ? at + 1 : at,
      ArrowUp: at - columns, ArrowDown: at + columns, Home: first, End: first + columns - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    all[to]?.focus();
  }

  function moveInList(event) {
    const item = event.target.closest("[data-rule], tr[data-place]");
    if (!item) return;
    const { previousElementSibling: above, nextElementSibling: below, parentElement: list } = item;
    const to = { ArrowUp: above, ArrowDown: below, Home: list.firstChild, End: list.lastChild }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    to?.focus();
  }

  function setView(which) {
    view.shown = which;
    for (const choice of choices("layer")) {
      choice.checked = choice.value === layer();
      if (choice.value === "decider") grey(choice, both());
    }
    grey(byId("borders"), both());
    paint();
    buildLists();
    table.build();
    player.fillStarts(`An episode${compared ? ` of ${shown()[0].name}` : ""}, step by step`);
    explain();
  }

  function grey(input, on) {
    const reason = on ? "Only for one policy: choose one above" : "";
    input.disabled = on;
    for (const element of [input, input.parentElement]) element.title = reason;
  }

  // Begin.
  const visit = place => { bringIntoView(place); choose({ place }); };
  const player = makePlayer({ task, policy: () => shown()[0], cellOf, nameOf, actionOf, visit, announce });
  const table = makeTable({ task, policies, shown, valuesOf, actionOf, differ, refresh: light });
  for (const choice of choices("layer")) {
    choice.addEventListener("change", () => { view.layers[mode()] = choice.value; paintCells(); });
  }
  for (const choice of choices("view")) {
    const which = choice.value === "both" ? [0, 1] : [Number(choice.value)];
    choice.addEventListener("change", () => setView(which));
    if (choice.checked) view.shown = which;
  }
  byId("arrows").addEventListener("change", paintCells);
  byId("borders").addEventListener("change", paintBorders);
  [board, lists, byId("table"), byId("findings")].filter(Boolean).forEach(listen);
  board.addEventListener("keydown", moveInGrid);
  lists.addEventListener("keydown", moveInList);
  byId("table").addEventListener("keydown", moveInList);
  const showBoard = () => board.scrollIntoView({ block: "center" });
  byId("findings")?.addEventListener("click", event => { if (subjectOf(event.target)) showBoard(); });
  byId("away").lastElementChild.addEventListener("click", showBoard);
  new IntersectionObserver(entries => {
    const { intersectionRect, boundingClientRect } = entries.at(-1);
    boardSeen = intersectionRect.height > 0.4 * Math.min(boundingClientRect.height, innerHeight);
    away();
  }, { threshold: [0, 0.1, 0.2, 0.3, 0.4, 0.5] }).observe(board);
  why.addEventListener("scroll", cue);
  new ResizeObserver(cue).observe(why);
  document.addEventListener("keydown", event => { if (event.key === "Escape") choose(null); });
  buildSlice();
  buildGrid();
  setView(view.shown);
})();
