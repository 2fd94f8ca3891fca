"use strict";
// An episode over time: every feature as a line, strips of actions and rules, and a cursor through all of them.

const PACE = 90;  // milliseconds per step
const TRAIL = 60;  // steps that stay drawn in the picture
const HIGH = 100;  // of a line's picture, in its own units

function makePlayer({ task, policy, colourOf, visit, announce }) {
  const now = { episode: null, at: 0, timer: null, rows: [], cursors: [] };
  const last = () => now.episode.times.length - 1;
  const actionName = action => action < 0 ? "no action" : task.actions[action];

  function fill(title) {
    byId("player-title").textContent = title;
    byId("episode").replaceChildren(...policy().episodes.map((episode, i) => {
      const mark = episode.mark ? `, ${episode.mark}` : "";
      return make("option", { value: i }, `${episode.number} of z: ${plural(episode.length, "step")}, return ${full(episode.returns.at(-1))}${mark}`);
    }));
    load();
  }

  function load() {
    pause();
    now.episode = policy().episodes[Number(byId("episode").value)];
    now.at = 0;
    byId("time").max = last();
    build();
    show();
  }

  // Lines and strips.
  function element(tag, options, ...inside) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(options)) made.setAttribute(name, value);
    made.append(...inside);
    return made;
  }

  function chart(look, ...inside) {
    const cursor = element("line", { class: "cursor", y1: 0, y2: HIGH });
    now.cursors.push(cursor);
    const wide = Math.max(1, last());
    return element("svg", { class: look, viewBox: `0 0 ${wide} ${HIGH}`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...inside, cursor);
  }

  function lineRow(feature, d) {
    const values = now.episode.points.map(point => point[d]), low = Math.min(...values), high = Math.max(...values), room = (high - low || 1) * 0.08;
    const y = value => HIGH - (value - low + room) / (high - low + 2 * room) * HIGH;
    const path = element("path", { class: "line", d: values.map((value, i) => `${i ? "L" : "M"}${i} ${y(value).toFixed(2)}`).join("") });
    const band = element("rect", { class: "band", x: 0, width: Math.max(1, last()) });
    const zero = low < 0 && high > 0 ? [element("line", { class: "zero", x1: 0, x2: last(), y1: y(0), y2: y(0) })] : [];
    const value = make("b"), name = make("span", { class: "name" }, feature.name, value);
    const ends = make("span", { class: "ends" }, make("span", {}, short4(high)), make("span", {}, short4(low)));
    now.rows.push({ d, y, band, value });
    return [name, ends, chart("track", band, ...zero, path)];
  }

  const short4 = value => minus(String(Number(value.toPrecision(3))));

  function stripRow(name, values, colour) {
    const parts = [];
    for (let from = 0, to; from < values.length; from = to) {
      for (to = from + 1; to < values.length && values[to] === values[from]; to++);
      parts.push(element("rect", { x: from, width: to - from, y: 0, height: HIGH, fill: colour(values[from]) }));
    }
    return [make("span", { class: "name" }, name), make("span", { class: "ends" }), chart("strip", ...parts)];
  }

  function build() {
    const { actions, rules } = now.episode, own = policy();
    now.rows = [];
    now.cursors = [];
    const drawn = own.order.slice(0, MOST_DRAWN).sort((a, b) => a - b), rows = drawn.flatMap(d => lineRow(task.features[d], d));
    rows.push(...stripRow("action", actions, action => colourOf(own, own.actions.indexOf(action), "action")));
    rows.push(...stripRow("rule", rules, rule => colourOf(own, rule, "rule")));
    byId("series").replaceChildren(...rows);
  }

  // One step.
  function rule() {
    return now.episode.rules[now.at] ?? -1;
  }

  function tell() {
    const { times, returns, rewards, actions, length, ended } = now.episode, over = now.at === last();
    const parts = [make("b", {}, `Step ${times[now.at]} of ${length}. `)];
    if (over) parts.push(make("b", {}, `${ended} `));
    else parts.push(`Rule ${rule() + 1} says ${actionName(actions[now.at])}, which brings ${full(rewards[now.at])}. `);
    parts.push(`Return so far ${full(returns[now.at])}. `);
    if (!over) parts.push(make("span", { class: "rule" }, ...ruleText(policy().rules[rule()].words)));
    byId("said").replaceChildren(...parts);
  }

  function show() {
    const point = now.episode.points[now.at], bounds = policy().bounds[rule()];
    for (const { d, y, band, value } of now.rows) {
      const { low, high, unit } = task.features[d], [from, to] = bounds?.[d] ?? [low, high], open = !bounds || (from <= low && to >= high);
      value.textContent = ` ${full(point[d])}${unit && ` ${unit}`}`;
      const top = to >= high ? 0 : Math.max(0, y(to)), bottom = from <= low ? HIGH : Math.min(HIGH, y(from));
      band.setAttribute("y", top);
      band.setAttribute("height", open ? 0 : Math.max(1.5, bottom - top));
    }
    for (const cursor of now.cursors) {
      cursor.setAttribute("x1", now.at);
      cursor.setAttribute("x2", now.at);
    }
    byId("time").value = now.at;
    byId("time").setAttribute("aria-valuetext", `step ${now.episode.times[now.at]}`);
    byId("back").disabled = byId("reset").disabled = now.at === 0;
    byId("forward").disabled = now.at === last();
    tell();
  }

  function goTo(at) {
    now.at = Math.max(0, Math.min(last(), at));
    show();
    visit(now.episode.points.slice(Math.max(0, now.at - TRAIL), now.at + 1), rule(), now.at === last() ? now.episode.over : "");
    if (now.timer === null) announce(byId("said").textContent);
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
    now.timer = setInterval(() => goTo(now.at + 1), PACE);
    return goTo(now.at === last() ? 0 : now.at);
  }

  function stepTo(at) {
    pause();
    goTo(at);
  }

  function drag(event) {
    const track = byId("series").querySelector("svg").getBoundingClientRect();
    if (event.clientX < track.left - 4) return;
    stepTo(Math.round((event.clientX - track.left) / track.width * last()));
  }

  byId("episode").addEventListener("change", () => { load(); goTo(0); });
  byId("play").addEventListener("click", playOrPause);
  byId("reset").addEventListener("click", () => stepTo(0));
  byId("back").addEventListener("click", () => stepTo(now.at - 1));
  byId("forward").addEventListener("click", () => stepTo(now.at + 1));
  byId("time").addEventListener("input", () => stepTo(Number(byId("time").value)));
  byId("series").addEventListener("pointerdown", drag);
  byId("series").addEventListener("pointermove", event => { if (event.buttons) drag(event); });
  return { fill, build: () => { build(); show(); } };
}
