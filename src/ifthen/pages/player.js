"use strict";
// An episode, step by step: one of those that the policy is measured on, as it was played.
// Where the page has room for it, every feature is a line over time, above strips of actions and rules.

const PACE = { quick: 90, slow: 650 };  // milliseconds per step
const LONG = 60;  // an episode with more steps plays quickly
const TRAIL = 60;  // steps that stay drawn in the picture
const HIGH = 100;  // of a line's picture, in its own units

function makePlayer({ task, policy, nameOf, placeName, colour, visit, announce }) {
  const now = { episode: null, at: 0, timer: null, rows: [], cursors: [] };
  const last = () => now.episode.times.length - 1;
  const rule = () => now.episode.rules[now.at] ?? -1;

  // One menu of all episodes; where several begin at the same state, they stand together.
  function fill(title) {
    byId("player-title").textContent = title;
    const groups = new Map();
    policy().episodes.forEach((episode, i) => {
      const start = task.points ? placeName(episode.points[0]) : "", mark = episode.mark ? `, ${episode.mark}` : "";
      const text = `training episode ${episode.number}: ${plural(episode.length, "step")}, return ${full(episode.total)}${mark}`;
      groups.set(start, [...(groups.get(start) ?? []), make("option", { value: i }, text)]);
    });
    const items = [...groups].flatMap(([start, options]) => start ? make("optgroup", { label: `from ${start}` }, ...options) : options);
    byId("episode").replaceChildren(...items);
    byId("episode").value = 0;
    load(false);
  }

  function load(follow = true) {
    pause();
    now.episode = policy().episodes[Number(byId("episode").value)];
    byId("time").max = last();
    if (byId("series")) build();
    goTo(0, follow);
  }

  function startAt(point) {
    const first = policy().episodes.findIndex(episode => point.place === undefined ? episode.points[0].join() === point.join() : episode.path[0] === point.place);
    if (first < 0) return;
    byId("episode").value = first;
    load();
    byId("forward").focus();
  }

  // Terms are worked out from clipped values; features are shown as they were observed.
  const shownValue = (point, d) => d < point.length ? point[d] : valueAt(policy(), clip(task.features, point), d);
  const quantity = d => task.features[d] ?? policy().terms[d - task.features.length];

  // Lines and strips.
  function chart(look, ...inside) {
    const cursor = drawing("line", { class: "cursor", y1: 0, y2: HIGH });
    now.cursors.push(cursor);
    return drawing("svg", { class: look, viewBox: `0 0 ${Math.max(1, last())} ${HIGH}`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...inside, cursor);
  }

  function lineRow(feature, d) {
    const values = now.episode.points.map(point => shownValue(point, d)), low = Math.min(...values), high = Math.max(...values), room = (high - low || 1) * 0.08;
    const y = value => HIGH - (value - low + room) / (high - low + 2 * room) * HIGH;
    const path = drawing("path", { class: "line", d: values.map((value, i) => `${i ? "L" : "M"}${i} ${y(value).toFixed(2)}`).join("") });
    // The second one is for an interval that goes round the end of the range.
    const bands = [0, 1].map(() => drawing("rect", { class: "band", x: 0, width: Math.max(1, last()) }));
    const zero = low < 0 && high > 0 ? [drawing("line", { class: "zero", x1: 0, x2: last(), y1: y(0), y2: y(0) })] : [];
    const value = make("b"), name = make("span", { class: "name" }, feature.name, value), end = number => make("span", {}, minus(String(Number(number.toPrecision(3)))));
    now.rows.push({ d, y, bands, value });
    return [name, make("span", { class: "ends" }, end(high), end(low)), chart("track", ...bands, ...zero, path)];
  }

  function stripRow(name, values, colourOf) {
    const parts = [];
    for (let from = 0, to; from < values.length; from = to) {
      for (to = from + 1; to < values.length && values[to] === values[from]; to++);
      parts.push(drawing("rect", { x: from, width: to - from, y: 0, height: HIGH, fill: colourOf(values[from]) }));
    }
    return [make("span", { class: "name" }, name), make("span", { class: "ends" }), chart("strip", ...parts)];
  }

  function build() {
    const { actions, rules } = now.episode, own = policy();
    [now.rows, now.cursors] = [[], []];
    const drawn = own.order.slice(0, MOST_DRAWN).sort((a, b) => a - b), rows = [...drawn, ...own.terms.map((_, t) => task.features.length + t)].flatMap(d => lineRow(quantity(d), d));
    rows.push(...stripRow("action", actions, action => colour(own, own.actions.indexOf(action), "action")));
    rows.push(...stripRow("rule", rules, number => colour(own, number, "rule")));
    byId("series").replaceChildren(...rows);
  }

  function showLines() {
    const point = now.episode.points[now.at], bounds = policy().bounds[rule()];
    for (const { d, y, bands, value } of now.rows) {
      const { low, high, unit } = quantity(d), [from, to] = bounds?.[d] ?? [low, high], open = !bounds || (from <= low && to >= high);
      value.textContent = ` ${full(shownValue(point, d))}${unit && ` ${unit}`}`;
      const parts = open ? [] : from > to ? [[from, high], [low, to]] : [[from, to]];
      bands.forEach((band, i) => {
        const [first, end] = parts[i] ?? [low, high];
        const top = end >= high ? 0 : Math.max(0, y(end)), bottom = first <= low ? HIGH : Math.min(HIGH, y(first));
        band.setAttribute("y", top);
        band.setAttribute("height", i < parts.length ? Math.max(1.5, bottom - top) : 0);
      });
    }
    for (const cursor of now.cursors) for (const end of ["x1", "x2"]) cursor.setAttribute(end, now.at);
  }

  // One step.
  function tell() {
    const { times, returns, rewards, actions, slips, length, ended } = now.episode, over = now.at === last();
    const parts = [make("b", {}, `Step ${times[now.at]} of ${length}. `)];
    if (over) parts.push(make("b", {}, `${ended} `));
    else {
      const slip = slips?.has(now.at) ? make("b", {}, `, but ${task.slip}`) : "", who = rule() < 0 ? "The policy" : `Rule ${rule() + 1}`;
      parts.push(`${who} says ${nameOf(actions[now.at])}, which brings ${full(rewards[now.at])}`, slip, ". ");
    }
    parts.push(`Return so far ${full(returns[now.at])}. `);
    if (rule() >= 0) parts.push(make("span", { class: "rule" }, ...ruleText(policy().rules[rule()].words)));
    byId("said").replaceChildren(...parts);
  }

  function here() {
    const { points, path, rules, over } = now.episode, at = now.at, end = at === last();
    return { point: points[at], place: path?.[at], rules: end ? null : { policy: policy(), rule: rules[at] }, over: end ? over : "", played: true };
  }

  function goTo(at, follow = true) {
    now.at = Math.max(0, Math.min(last(), at));
    byId("time").value = now.at;
    byId("time").setAttribute("aria-valuetext", `step ${now.episode.times[now.at]}`);
    byId("back").disabled = byId("reset").disabled = now.at === 0;
    byId("forward").disabled = now.at === last();
    showLines();
    tell();
    visit(now.episode.points.slice(Math.max(0, now.at - TRAIL), now.at + 1), follow);
    if (now.at === last()) pause();
  }

  function pause() {
    clearInterval(now.timer);
    now.timer = null;
    setButton(false);
  }

  function setButton(on) {
    const button = byId("play");
    button.classList.toggle("on", on);
    button.setAttribute("aria-label", on ? "Pause" : "Play");
    button.lastElementChild.textContent = on ? "Pause" : "Play";
  }

  function playOrPause() {
    if (now.timer !== null) return pause();
    setButton(true);
    now.timer = setInterval(() => goTo(now.at + 1), last() > LONG ? PACE.quick : PACE.slow);
    return goTo(now.at === last() ? 0 : now.at);
  }

  function stepTo(at) {
    pause();
    goTo(at);
    announce(byId("said").textContent);
  }

  function drag(event) {
    const track = byId("series").querySelector("svg").getBoundingClientRect();
    if (event.clientX >= track.left - 4) stepTo(Math.round((event.clientX - track.left) / track.width * last()));
  }

  byId("episode").addEventListener("change", () => load());
  byId("play").addEventListener("click", playOrPause);
  byId("reset").addEventListener("click", () => stepTo(0));
  byId("back").addEventListener("click", () => stepTo(now.at - 1));
  byId("forward").addEventListener("click", () => stepTo(now.at + 1));
  byId("time").addEventListener("input", () => stepTo(Number(byId("time").value)));
  byId("series")?.addEventListener("pointerdown", drag);
  byId("series")?.addEventListener("pointermove", event => { if (event.buttons) drag(event); });
  return { fill, startAt, here, repaint() { if (byId("series")) { build(); showLines(); } } };
}
