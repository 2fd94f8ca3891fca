"use strict";
// The page of a policy in an environment: picture, rules, why, and episodes; what is pointed at in one lights up in the others.
(() => {
  const { task, policies, findings } = JSON.parse(byId("data").textContent);
  const lists = byId("lists"), why = byId("why");
  const LONG_LIST = 60, MOST_OTHERS = 6, MOST_CHANGES = 6;
  const compared = policies.length === 2;
  const view = { shown: [0], axes: policies[0].axes.slice(), fixed: policies[0].middle.slice(), colours: "action", zoomed: false };
  let pointed = null, chosen = null, pinned = false;

  const shown = () => view.shown.map(i => policies[i]);
  const both = () => view.shown.length === 2;
  const nameOf = action => action < 0 ? "no action" : task.actions[action];
  const valueOf = (d, value) => `${full(value)}${task.features[d].unit && ` ${task.features[d].unit}`}`;
  const named = () => task.features.length <= MOST_DRAWN ? task.features.map((_, d) => d) : view.axes;
  const placeOf = point => named().map(d => `${task.features[d].name} = ${valueOf(d, point[d])}`).join(", ");
  const subject = () => pinned ? chosen : pointed ?? chosen;
  const announce = text => { byId("live").textContent = text; };

  function colourOf(policy, rule, by = view.colours) {
    if (rule < 0) return "transparent";
    if (by === "rule") return `hsl(${Math.round(hue(rule))} 55% 62%)`;
    const name = `--action-${policy.actions[rule] % PALETTE}`;
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  // Which features are drawn, and where the others are fixed.
  function buildSlice() {
    const axis = (i, label) => {
      const act = text => {
        const before = view.axes[i];
        view.axes[i] = Number(text);
        if (view.axes[1 - i] === view.axes[i]) view.axes[1 - i] = before;
        redraw();
      };
      const options = task.features.map((f, d) => [d, f.name]);
      return make("label", {}, `${label} `, menu(options, view.axes[i], act, { id: `axis-${i}` }));
    };
    byId("slice").hidden = task.features.length < 3;
    byId("slice").replaceChildren(...view.axes.map((_, i) => axis(i, i ? "up" : "across")));
    const others = shown()[0].order.filter(d => !view.axes.includes(d)).slice(0, MOST_DRAWN).sort((a, b) => a - b);
    byId("fixed").replaceChildren(...(others.length ? [heading(), ...others.map(slider)] : []));
  }

  function heading() {
    const button = make("button", { type: "button", id: "middle" }, "back to the middle of the states met");
    button.addEventListener("click", () => { view.fixed = shown()[0].middle.slice(); redraw(); });
    return make("p", { class: "note" }, "All others are held at ", button);
  }

  function slider(d) {
    const { name, low, high, whole } = task.features[d], shownValue = make("output", {}, valueOf(d, view.fixed[d]));
    const input = make("input", { type: "range", min: low, max: high, step: whole ? 1 : "any", value: view.fixed[d], "data-feature": d, "aria-label": name });
    input.value = view.fixed[d];
    input.addEventListener("input", () => {
      const value = Number(input.value);
      view.fixed[d] = whole ? value : Number(value.toPrecision(4));
      shownValue.textContent = valueOf(d, view.fixed[d]);
      plane.refresh();
      explain();
    });
    return make("label", { class: "fixed" }, make("span", {}, name), input, shownValue);
  }

  function redraw() {
    buildSlice();
    plane.refresh();
    explain();
  }

  function setFixed(point) {
    view.fixed = clip(task.features, point);
    redraw();
  }

  function buildLegend() {
    const key = (look, text) => make("span", { class: "key" }, make("span", { class: `swatch ${look}` }), ` ${text}`);
    const keys = both() || view.colours === "action" ? task.actions.map((name, action) => key(`action-${action % PALETTE}`, name)) : [];
    if (!both() && view.colours === "rule") keys.push(make("span", {}, "Each rule has a colour of its own."));
    if (both()) keys.push(key("differ", "they do different things"));
    if (shown().some(policy => policy.uncovered)) keys.push(key("nothing", "no rule matches"));
    if (byId("dots").checked) keys.push(make("span", { class: "key" }, `· states met${task.features.length > 2 ? ", wherever their other features are" : ""}`));
    byId("legend").replaceChildren(...keys);
  }

  // The rules.
  function buildLists() {
    lists.replaceChildren(...view.shown.map(listing));
    light();
  }

  function listing(i) {
    const policy = policies[i], name = compared ? ` of ${policy.name}` : "", title = make("h2");
    policy.listing ??= { only: policy.rules.length > LONG_LIST, sorted: policy.kind !== "decision-list" };
    const look = policy.rules[0].notes ? "rules" : "rules bare";
    const rules = make("ul", { role: "listbox", class: look, "aria-label": `Rules${name}`, "data-policy": i });
    const fill = () => {
      const order = rulesToList(policy), all = policy.rules.length;
      title.textContent = (order.length < all ? `${order.length} of ${all} rules` : plural(all, "rule")) + name;
      rules.replaceChildren(...order.map(rule => ruleItem(policy, rule)));
      if (rules.firstChild) rules.firstChild.tabIndex = 0;
      light();
    };
    const only = tick("only rules that decide", policy.listing.only, on => { policy.listing.only = on; fill(); });
    const sorted = tick("most states first", policy.listing.sorted, on => { policy.listing.sorted = on; fill(); });
    fill();
    const note = `${policy.how} Shares are of the ${policy.states.toLocaleString("en")} states met in z.`;
    return make("section", { class: "card listing" }, title, make("div", { class: "choices" }, only, sorted), rules, make("p", { class: "note" }, note));
  }

  function rulesToList({ rules, listing }) {
    const order = rules.map((_, rule) => rule).filter(rule => !listing.only || rules[rule].share);
    return listing.sorted ? order.sort((a, b) => rules[b].share - rules[a].share || a - b) : order;
  }

  function ruleItem(policy, rule) {
    const { words, notes, share } = policy.rules[rule], said = share ? percent(share) : "–";
    const label = `Rule ${rule + 1}: ${words}. Decides ${percent(share)} of the states met.`;
    const options = { role: "option", tabindex: "-1", "data-rule": rule, class: share ? "coloured" : "idle", "aria-label": label };
    const item = make("li", options, make("span", {}, `${rule + 1}.`), make("span", { class: "rule" }, ...ruleText(words)));
    if (notes) item.append(make("span", { class: "payoff" }, make("small", {}, notes)));
    item.append(make("span", {}, said));
    item.style.setProperty("--colour", colourOf(policy, rule));
    return item;
  }

  // Lighting what is pointed at, or else what is chosen.
  function light() {
    const what = subject(), lit = policies.map(() => new Map());
    if (what?.rule !== undefined) lit[what.policy].set(what.rule, "decided");
    else if (what?.finding !== undefined) findings[what.finding].rules.forEach(rule => lit[0].set(rule, "decided"));
    else if (what?.point && !what.over) {
      for (const i of view.shown) {
        const winner = what.rules?.[i] ?? decider(policies[i], what.point);
        if (winner < 0) continue;
        for (const rule of allRules(policies[i])) if (inside(policies[i], rule, what.point)) lit[i].set(rule, "match");
        lit[i].set(winner, "decided");
      }
    }
    for (const list of lists.querySelectorAll(".rules")) markList(list, lit[list.dataset.policy], what);
    const rules = what?.rule !== undefined ? [what.rule] : what?.finding !== undefined ? findings[what.finding].rules : [];
    const place = view.shown.indexOf(what?.policy ?? 0);
    const boxes = rules.filter(rule => place >= 0 && plane.reaches(place, rule));
    plane.light(rules.length && place >= 0 ? { policy: place, decided: rules, boxes } : null);
    plane.mark(what?.point ?? null);
    for (const button of byId("findings")?.querySelectorAll("button") ?? []) {
      button.classList.toggle("here", what?.finding !== undefined && Number(button.dataset.finding) === what.finding);
    }
  }

  function markList(list, lit, what) {
    for (const item of list.children) {
      const state = lit.get(Number(item.dataset.rule));
      item.classList.toggle("match", state === "match");
      item.classList.toggle("decided", state === "decided");
      item.setAttribute("aria-selected", state === "decided");
    }
    const winner = list.querySelector(".decided");
    if (winner && what.rule === undefined) list.scrollTop = winner.offsetTop - list.offsetTop - list.clientHeight / 3;
  }

  // Why.
  function explain() {
    const what = subject(), parts = what?.rule !== undefined ? aboutRule(what) : what?.point ? aboutPoint(what) : aboutNothing();
    why.replaceChildren(...parts);
    if (pinned) why.append(pinnedNote());
    cue();
    light();
  }

  // What is cut off is announced: not every system shows scroll bars.
  function cue() {
    why.classList.toggle("cut", why.scrollHeight - why.clientHeight - why.scrollTop > 8);
  }

  function pinnedNote() {
    const button = make("button", { type: "button" }, "let go");
    button.addEventListener("click", () => choose(null));
    return make("p", { class: "pinned" }, button, "Pinned: it stays until you let go, or press Escape.");
  }

  function aboutNothing() {
    const text = "Point at the picture to see which rule decides there, and why; point at a rule to see where it decides. " +
      "A click, a tap or Enter pins it, so that it stays while you come here to read; Escape lets go.";
    return [make("h2", {}, "Why"), make("p", { class: "soft hint" }, text)];
  }

  function aboutRule({ policy: i, rule }) {
    const policy = policies[i], { words, notes, share } = policy.rules[rule], place = view.shown.indexOf(i);
    const parts = [make("h2", {}, `Rule ${rule + 1}${compared ? ` of ${policy.name}` : ""}`), make("p", {}, make("q", {}, ...ruleText(words)))];
    parts.push(make("p", {}, share ? `It decides ${percent(share)} of the states met.` : "It decides in none of the states met."));
    if (notes) parts.push(make("p", { class: "soft" }, `${policy.noted} ${minus(notes)}`));
    if (place < 0 || (plane.reaches(place, rule) && plane.decides(place, rule))) return parts;
    const missed = task.features.map((_, d) => d).filter(d => !view.axes.includes(d) && (view.fixed[d] < policy.bounds[rule][d][0] || view.fixed[d] > policy.bounds[rule][d][1]));
    if (!missed.length) return [...parts, make("p", {}, "In this picture other rules decide wherever it matches.")];
    const button = make("button", { type: "button" }, "Move there");
    button.addEventListener("click", () => setFixed(view.fixed.map((value, d) => missed.includes(d) ? towards(policy.bounds[rule][d], d) : value)));
    return [...parts, make("p", {}, `The picture does not reach it: ${missed.map(d => `${task.features[d].name} is ${valueOf(d, view.fixed[d])} there`).join(", ")}. `, button)];
  }

  function towards([low, high], d) {
    const middle = (low + high) / 2;
    return task.features[d].whole ? Math.round(middle) : Number(middle.toPrecision(4));
  }

  function aboutPoint({ point, rules, over }) {
    if (over) return [make("h2", {}, placeOf(point)), make("p", {}, `The episode has ended; no action is asked here (${over}).`)];
    const parts = view.shown.flatMap(i => pointParts(policies[i], clip(task.features, point), rules?.[i]));
    return [make("h2", {}, placeOf(point)), ...parts];
  }

  function pointParts(policy, point, known) {
    const rule = known ?? decider(policy, point), action = actionAt(policy, rule), mark = compared ? `${policy.name}: ` : "";
    const parts = [make("p", {}, `${mark}`, make("b", {}, capital(nameOf(action))), rule < 0 ? ": no rule matches." : `, by rule ${rule + 1}. ${reason(policy, rule, point)}`)];
    if (rule >= 0) parts.push(make("p", {}, make("q", {}, ...ruleText(policy.rules[rule].words))));
    const others = rule < 0 ? [] : allRules(policy).filter(other => other !== rule && inside(policy, other, point));  // stored points are rounded
    if (others.length) parts.push(make("h3", {}, "Other rules that match"), otherRules(policy, others, point));
    const changes = task.features.map((_, d) => [d, nearestChange(policy, task.features, point, d)]).filter(([, change]) => change);
    changes.sort((a, b) => a[1].distance - b[1].distance);
    const lines = changes.slice(0, MOST_CHANGES).map(([d, change]) => make("li", {}, `${task.features[d].name} ${change.sign} ${valueOf(d, change.end)}: ${nameOf(change.action)}${change.rule < 0 ? "" : `, by rule ${change.rule + 1}`}`));
    if (lines.length) parts.push(make("h3", {}, "What would change it, one feature alone"), make("ul", {}, ...lines));
    else parts.push(make("p", { class: "soft" }, "No change of one feature alone would change it."));
    return parts;
  }

  function reason(policy, rule, point) {
    if (policy.kind === "decision-list") return "It is the first that matches.";
    if (policy.kind === "strength") return `It is the strongest that matches: ${full(strength(policy, rule, point))}.`;
    const matching = allRules(policy).filter(other => inside(policy, other, point)), array = predictionArray(policy, point, matching);
    return `Predicted payoffs: ${[...array].map(([action, value]) => `${nameOf(action)} ${full(value)}`).join(", ")}.`;
  }

  function otherRules(policy, others, point) {
    const by = { strength: rule => -strength(policy, rule, point), "prediction-array": rule => -policy.fitness[rule] }[policy.kind] ?? (rule => rule);
    const note = { strength: rule => ` (${full(strength(policy, rule, point))})` }[policy.kind] ?? (() => "");
    const sorted = others.slice().sort((a, b) => by(a) - by(b)), items = sorted.slice(0, MOST_OTHERS).map(rule =>
      make("li", {}, `${rule + 1}. `, make("q", {}, ...ruleText(policy.rules[rule].words)), note(rule)));
    if (sorted.length > MOST_OTHERS) items.push(make("li", { class: "soft" }, `and ${sorted.length - MOST_OTHERS} more`));
    return make("ul", {}, ...items);
  }

  // Pointing, choosing, pinning.
  function choose(what, pin = false) {
    [chosen, pinned, pointed] = [what, pin && what !== null, null];
    explain();
    if (what) announce(why.textContent);
  }

  function moved(how, point) {
    if (how === "point" || how === "leave") {
      if (pinned) return;
      pointed = point ? { point } : null;
      explain();
    } else choose({ point }, how === "pin");
  }

  function ruleOf(target) {
    const item = target.closest("[data-rule]");
    return item && { policy: Number(item.parentElement.dataset.policy), rule: Number(item.dataset.rule) };
  }

  lists.addEventListener("pointerover", event => { if (pinned) return; const what = ruleOf(event.target); if (what) { pointed = what; explain(); } });
  lists.addEventListener("pointerleave", () => { if (pinned) return; pointed = null; explain(); });
  lists.addEventListener("click", event => { const what = ruleOf(event.target); if (what) choose(what, true); });
  lists.addEventListener("focusin", event => { const what = ruleOf(event.target); if (what && !pinned && event.target.matches(":focus-visible")) choose(what); });
  lists.addEventListener("keydown", event => {
    const item = event.target.closest("[data-rule]");
    if (!item) return;
    const { previousElementSibling: above, nextElementSibling: below, parentElement: list } = item;
    const to = { ArrowUp: above, ArrowDown: below, Home: list.firstChild, End: list.lastChild }[event.key];
    if (event.key === "Enter") choose(ruleOf(item), true);
    else if (to === undefined) return;
    event.preventDefault();
    to?.focus();
  });
  byId("findings")?.addEventListener("click", event => {
    const button = event.target.closest("[data-finding]");
    if (!button) return;
    const finding = Number(button.dataset.finding), { point } = findings[finding];
    if (point) setFixed(point);
    choose(point ? { point } : { finding }, true);
    byId("board").scrollIntoView({ block: "center" });
  });
  why.addEventListener("scroll", cue);
  document.addEventListener("keydown", event => { if (event.key === "Escape") choose(null); });

  function setView(which) {
    view.shown = which;
    plane.refresh();  // before anything is painted
    player.fill(`An episode${compared ? ` of ${shown()[0].name}` : ""}, step by step`);
    plane.trail([]);
    repaint();
  }

  function repaint() {
    plane.refresh();
    buildLists();
    buildLegend();
    explain();
  }

  // Begin.
  function visit(trail, rule, over) {
    plane.trail(trail);
    const point = trail.at(-1), rules = { [view.shown[0]]: rule };
    [chosen, pinned, pointed] = [{ point, rules, over }, false, null];
    if (byId("follow").checked) setFixed(point);
    else explain();
  }

  const plane = makePlane({ task, view, shown, colourOf, moved });
  const player = makePlayer({ task, policy: () => shown()[0], colourOf, visit, announce });
  for (const choice of document.querySelectorAll("input[name=colours]")) {
    choice.addEventListener("change", () => { view.colours = choice.value; repaint(); });
  }
  for (const choice of document.querySelectorAll("input[name=view]")) {
    choice.addEventListener("change", () => setView(choice.value === "both" ? [0, 1] : [Number(choice.value)]));
  }
  byId("zoom").addEventListener("change", () => { view.zoomed = byId("zoom").checked; plane.refresh(); explain(); });
  for (const id of ["dots", "borders"]) byId(id).addEventListener("change", () => { buildLegend(); plane.paint(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { repaint(); player.build(); });
  byId("follow").parentElement.hidden = task.features.length < 3;  // nothing is held fixed
  plane.refresh();
  buildSlice();
  setView([0]);
})();
