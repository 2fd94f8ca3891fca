"use strict";
// The front: return against size, one point for each policy. Pointing at one shows its rules; a click or Enter keeps it.

function makeFront({ valued, optimum, points }, announce) {
  const drawn = byId("front-drawn"), about = byId("front-point");
  const WIDE = 640, TALL = 300, EDGE = { left: 64, right: 16, top: 34, bottom: 44 };
  const NAMES = { rules: "rules", tests: "tests: one-sided comparisons", nodes: "nodes of a tree that does the same" };
  const values = points.map(point => point.value), near = Math.max(...values) - 0.2 * (Math.max(...values) - Math.min(...values));
  let size = "rules", zoomed = false, kept = Math.max(0, points.findIndex(point => point.knee));

  const fits = i => points[i][size] !== null && (!zoomed || i === kept || points[i].value >= near);
  const sized = () => points.map((_, i) => i).filter(fits).sort((i, j) => points[i][size] - points[j][size] || i - j);
  const inWords = i => `${plural(points[i].rules, "rule")}, ${plural(points[i].tests, "test")}: ${points[i].said}${points[i].knee ? ", the knee" : ""}`;

  function scales(order) {
    const all = order.flatMap(i => points[i].ends ?? [points[i].value]).concat(optimum ?? []);
    let low = Math.min(...all), high = Math.max(...all);
    if (low === high) [low, high] = [low - 1, high + 1];
    const most = Math.max(...order.map(i => points[i][size])), least = Math.min(...order.map(i => points[i][size]));
    const across = value => EDGE.left + 14 + (WIDE - EDGE.left - EDGE.right - 28) * (value - least) / (most - least || 1);
    const up = value => TALL - EDGE.bottom - (TALL - EDGE.top - EDGE.bottom) * (value - low) / (high - low);
    return { across, up, low, high, least, most };
  }

  // Round numbers between two ends.
  function ticks(low, high, whole) {
    const rough = (high - low) / 5 || 1, power = 10 ** Math.floor(Math.log10(rough));
    const step = Math.max([1, 2, 5, 10].map(n => n * power).find(n => n >= rough), whole ? 1 : 0);
    const found = [];
    for (let at = Math.ceil(low / step); at * step <= high; at++) found.push(Number((at * step).toPrecision(12)));
    return found;
  }

  function axes({ across, up, low, high, least, most }) {
    const label = (x, y, text, anchor) => drawing("text", { x, y, "text-anchor": anchor }, text);
    const bottom = TALL - EDGE.bottom;
    return [
      ...ticks(low, high).flatMap(at => [drawing("path", { class: "grid-line", d: `M${EDGE.left} ${up(at)}H${WIDE - EDGE.right}` }), label(EDGE.left - 8, up(at) + 4, minus(at.toLocaleString("en")), "end")]),
      ...ticks(least, most, true).map(at => label(across(at), bottom + 18, `${at}`, "middle")),
      label((EDGE.left + WIDE) / 2, TALL - 6, NAMES[size], "middle"),
      label(4, 12, valued, "start"),
    ];
  }

  function mark(i, { across, up }) {
    const { value, ends, knee, shown } = points[i], x = across(points[i][size]);
    const parts = [drawing("circle", { class: "reach", cx: x, cy: up(value), r: 13 })];
    if (ends) parts.push(drawing("path", { class: "ends", d: `M${x} ${up(ends[0])}V${up(ends[1])}` }));
    parts.push(knee ? drawing("path", { class: "dot", d: `M${x} ${up(value) - 8}l8 8-8 8-8-8z` }) : drawing("circle", { class: "dot", cx: x, cy: up(value), r: 5 }));
    const options = { role: "option", tabindex: "-1", "data-point": i, class: `point${knee ? " knee" : ""}${shown ? " shown" : ""}`, "aria-label": inWords(i) };
    return drawing("g", options, ...parts);
  }

  function draw() {
    const order = sized(), place = scales(order), best = [];
    for (const i of order) {
      if (best.length && points[i].value <= points[best.at(-1)].value) continue;
      if (best.length && points[i][size] === points[best.at(-1)][size]) best.pop();
      best.push(i);
    }
    const line = drawing("path", { class: "line", d: `M${best.map(i => `${place.across(points[i][size])}${i === best[0] ? " " : "V"}${place.up(points[i].value)}`).join("H")}` });
    const dashed = optimum === null ? [] : [drawing("path", { class: "optimum", d: `M${EDGE.left} ${place.up(optimum)}H${WIDE - EDGE.right}` }), drawing("text", { x: WIDE - EDGE.right, y: place.up(optimum) - 4, "text-anchor": "end" }, "optimum")];
    const list = drawing("g", { role: "listbox", "aria-label": "Policies from short to long" }, ...order.map(i => mark(i, place)));
    drawn.replaceChildren(drawing("svg", { viewBox: `0 0 ${WIDE} ${TALL}`, class: "front-picture" }, ...axes(place), ...dashed, line, list));
    show(kept);
  }

  function show(i) {
    for (const mark of drawn.querySelectorAll(".point")) {
      const own = Number(mark.dataset.point);
      setClasses(mark, { seen: own === i, kept: own === kept });
      mark.setAttribute("aria-selected", own === kept);
      mark.setAttribute("tabindex", own === kept ? "0" : "-1");
    }
    const { rules, tests, nodes, said, ends, knee, shown, words, text, command } = points[i];
    const interval = ends && ends[0] !== ends[1] ? ` (95 % interval ${full(ends[0])} to ${full(ends[1])})` : "";
    const which = [knee && "The knee: the shortest that is nearly as good as the best.", shown && "This page is about this one."].filter(Boolean).join(" ");
    about.replaceChildren(
      make("h3", {}, `${plural(rules, "rule")}, ${plural(tests, "test")}${nodes === null ? "" : `, ${plural(nodes, "tree node")}`}`),
      make("p", {}, make("b", {}, said), `${interval}, ${valued}. ${which}`),
      text ? make("pre", { class: "rule", id: "front-rules", tabindex: "0" }, words.map((rule, r) => `${r + 1}. ${rule}`).join("\n")) : make("p", { class: "soft" }, "These are too many rules to list here: the command writes them."),
      make("div", { class: "buttons" }, text ? copier("Copy the rules", text, "front-rules") : null, copier("Copy the command", command, "front-command")),
      make("p", { class: "note" }, make("code", { id: "front-command" }, command)),
    );
  }

  // Browsers may refuse the clipboard to a file: then the text is shown and selected, to be copied by hand.
  function copier(label, text, id) {
    const button = make("button", { type: "button" }, label);
    button.addEventListener("click", async () => {
      let done = true;
      try { await navigator.clipboard.writeText(text); } catch {
        byId(id).textContent = text;
        getSelection().selectAllChildren(byId(id));
        done = document.execCommand("copy");
      }
      button.textContent = done ? "Copied" : "Selected: press Ctrl+C";
      announce(button.textContent);
      setTimeout(() => { button.textContent = label; }, 2000);
    });
    return button;
  }

  const pointOf = event => event.target.closest?.("[data-point]");
  drawn.addEventListener("pointerover", event => { if (pointOf(event) && event.pointerType !== "touch") show(Number(pointOf(event).dataset.point)); });
  drawn.addEventListener("pointerleave", () => show(kept));
  drawn.addEventListener("click", event => { if (pointOf(event)) keep(Number(pointOf(event).dataset.point)); });
  drawn.addEventListener("keydown", event => {
    const order = sized(), at = order.indexOf(kept);
    const to = { ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1, Home: 0, End: order.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    keep(order[Math.min(order.length - 1, Math.max(0, to))]);
    drawn.querySelector(`[data-point="${kept}"]`).focus();
  });

  function keep(i) {
    kept = i;
    show(i);
    announce(inWords(i));
  }

  const close = values.filter(value => value >= near).length;
  if (close > 1 && close < points.length) byId("front").querySelector(".choices").append(tick("zoom to the best", false, on => { zoomed = on; draw(); }));
  for (const choice of choices("size")) {
    choice.disabled = points.every(point => point[choice.value] === null);
    choice.addEventListener("change", () => { size = choice.value; draw(); });
  }
  draw();
}
