"use strict";
// The page: a picture, the rules, an episode, and why; what is pointed at in one of them lights up in the others.
// While nothing is pointed at or chosen, the page explains the state that the episode is in.
(() => {
  const { task, policies, findings, front } = JSON.parse(byId("data").textContent);
  const why = byId("why"), lists = byId("lists"), LONG_LIST = 60;  // of more rules only those that decide are listed
  const compared = policies.length === 2;
  const view = { shown: [0], recolour: repaint };
  let pointed = null, chosen = null, pinned = false, boardSeen = true, ready = false;

  const shown = () => view.shown.map(i => policies[i]);
  const both = () => view.shown.length === 2;
  const nameOf = action => action < 0 ? "no action" : task.actions[action];
  const valueOf = (d, value) => task.features[d].labels?.[value - task.features[d].low] ?? `${full(value)}${task.features[d].unit && ` ${task.features[d].unit}`}`;
  const named = () => task.features.length <= MOST_DRAWN ? task.features.map((_, d) => d) : view.axes;
  const seen = point => named().map(d => `${task.features[d].name} = ${valueOf(d, point[d])}`).join(", ");
  const cellName = place => ["x", "y"].map((name, d) => `${name} = ${task.cells[place][d]}`).join(", ");
  const placeName = point => task.cells && point.place !== undefined ? cellName(point.place) : seen(point);
  const subject = () => pinned ? chosen : pointed ?? chosen ?? player.here();
  const announce = text => { byId("live").textContent = text; };

  // The rules.
  function buildLists() {
    lists.closest(".pair").classList.toggle("both", both());
    lists.replaceChildren(...view.shown.map(listing));
  }

  function listing(i) {
    const policy = policies[i], title = make("h2"), name = compared ? ` of ${policy.name}` : "";
    policy.listing ??= { only: policy.rules.length > LONG_LIST, sorted: !policy.ordered };
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
    return make("section", { class: "card listing" }, title, make("div", { class: "choices" }, only, sorted), rules, make("p", { class: "note" }, policy.how));
  }

  function rulesToList({ rules, listing }) {
    const order = rules.map((_, rule) => rule).filter(rule => !listing.only || rules[rule].share);
    return listing.sorted ? order.sort((a, b) => rules[b].share - rules[a].share || a - b) : order;
  }

  function ruleItem(policy, rule) {
    const { words, notes, share, said } = policy.rules[rule];
    const options = { role: "option", tabindex: "-1", "data-rule": rule, class: share ? "coloured" : "idle", "aria-label": `Rule ${rule + 1}: ${words}. ${said}`, title: said };
    const item = make("li", options, make("span", {}, `${rule + 1}.`), make("span", { class: "rule" }, ...ruleText(words)));
    if (notes) item.append(make("span", { class: "payoff" }, make("small", {}, notes)));
    item.append(make("span", {}, share ? percent(share) : "–"));
    item.style.setProperty("--colour", scene.colour(policy, rule));
    return item;
  }

  // Lighting the subject: rules that decide strongly, rules that only match weakly.
  function light() {
    if (!ready) return;
    const what = subject(), lit = policies.map(() => new Map()), rules = [];
    if (what.rule !== undefined) rules.push([what.policy, what.rule]);
    else if (what.finding !== undefined) rules.push(...findings[what.finding].rules.map(rule => [0, rule]));
    else if (what.point && !what.over) for (const i of view.shown) matchesAt(i, what, lit[i]);
    for (const [i, rule] of rules) lit[i].set(rule, "decided");
    for (const list of lists.querySelectorAll(".rules")) {
      for (const item of list.children) {
        const state = lit[list.dataset.policy].get(Number(item.dataset.rule));
        mark(item, state);
        item.setAttribute("aria-selected", state === "decided");
      }
      const winner = list.querySelector(".decided");
      if (winner && what.rule === undefined) list.scrollTop = winner.offsetTop - list.offsetTop - list.clientHeight / 3;
    }
    for (const button of document.querySelectorAll("[data-finding]")) {
      button.classList.toggle("here", what.finding === Number(button.dataset.finding));
    }
    scene.light(what, rules);
  }

  function matchesAt(i, what, lit) {
    const winner = what.rules?.policy === policies[i] ? what.rules.rule : scene.decider(policies[i], what);
    if (winner < 0) return;
    for (const rule of matching(policies[i], clip(task.features, what.point))) lit.set(rule, "match");
    lit.set(winner, "decided");
  }

  // Why.
  function explain() {
    if (!ready) return;
    const what = subject();
    if (what.rule !== undefined) why.replaceChildren(...aboutRule(what));
    else if (what.finding !== undefined) why.replaceChildren(...aboutFinding(what));
    else why.replaceChildren(...scene.aboutPoint({ ...what, rules: what.rules && { [policies.indexOf(what.rules.policy)]: what.rules.rule } }));
    if (pinned) why.querySelector("h2").after(pinnedLine());
    else if (what.played) why.append(make("p", { class: "soft hint" }, why.dataset.hint));
    why.scrollTop = 0;
    cue();
    away();
    light();
  }

  function aboutRule({ policy: i, rule }) {
    const { rules, noted, name } = policies[i], { words, notes, said } = rules[rule];
    return [
      make("h2", {}, `Rule ${rule + 1}${compared ? ` of ${name}` : ""}`),
      make("p", {}, make("q", {}, ...ruleText(words))),
      make("p", { class: "reason" }, said),
      ...(notes ? [make("p", { class: "soft" }, `${noted}: ${minus(notes)}`)] : []),
      ...scene.aboutRule(i, rule),
    ];
  }

  function aboutFinding({ finding, point }) {
    const text = make("p", { class: "reason" }, findings[finding].text);
    return [make("h2", {}, "Verified"), text, ...(point ? scene.aboutPoint({ point }) : [])];
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

  // The sentence on a rule, where the picture that shows it is not on the screen.
  function away() {
    const line = byId("away");
    line.hidden = boardSeen || chosen?.rule === undefined;
    if (!line.hidden) line.firstChild.textContent = `Rule ${chosen.rule + 1}: ${policies[chosen.policy].rules[chosen.rule].said}`;
  }

  // Pointing and choosing, by hand or by keys: one tab stop for the grid, one for each list.
  function point(what) {
    pointed = what;
    if (!pinned) explain();
  }

  function choose(what, pin = false) {
    if (pin && pinned && JSON.stringify(what) === JSON.stringify(chosen)) what = null;
    [chosen, pointed, pinned] = [what, null, pin && what !== null];
    if (what?.finding !== undefined) {
      if (!view.shown.includes(0)) choices("view")[0].click();  // findings are about the first policy
      if (what.point) scene.show(what.point);
    }
    explain();
    if (what) announce([...why.querySelectorAll("h2, .pinned, .reason, .change")].map(part => part.textContent).join(" "));
  }

  function subjectOf(target) {
    const element = target.closest("[data-place], [data-rule], [data-finding]");
    if (!element) return null;
    const { rule, finding } = element.dataset;
    if (rule !== undefined) return { rule: Number(rule), policy: Number(element.closest(".rules").dataset.policy) };
    if (finding !== undefined) return { finding: Number(finding), point: findings[finding].point ?? undefined };
    return scene.subjectOf(element.dataset);
  }

  function listen(area) {
    area.addEventListener("pointerover", event => { if (event.pointerType !== "touch") point(subjectOf(event.target)); });
    area.addEventListener("pointerleave", () => point(null));
    const act = (kind, how) => area.addEventListener(kind, event => {
      const what = subjectOf(event.target);
      if (what) how(what, event);
    });
    act("focusin", what => choose(what));
    act("click", what => choose(what, true));
    act("keydown", (what, event) => { if (event.key === "Enter" && area !== byId("findings")) choose(what, true); });
    area.addEventListener("keydown", moveInList);
    area.addEventListener("focusin", event => {
      const stop = event.target.closest("[tabindex]");
      if (!stop || stop === area) return;
      for (const other of area.querySelectorAll("[tabindex='0']")) {
        if (other.parentElement === stop.parentElement || area === byId("board")) other.tabIndex = -1;
      }
      stop.tabIndex = 0;
    });
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
    ready = false;
    player.fill(`An episode${compared ? ` of ${shown()[0].name}` : ""}, step by step`);
    repaint();
  }

  function repaint() {
    ready = true;
    buildLists();
    scene.refresh();
    player.repaint();
  }

  function visit(trail, follow) {
    [chosen, pinned, pointed] = [null, false, null];
    scene.trail(trail);
    if (follow) scene.show(trail.at(-1));
    explain();
  }

  // Begin. What is drawn in the middle is chosen here, and nowhere else.
  const shared = {
    task, policies, view, shown, both, compared, valueOf, nameOf, placeName, seen, point, choose, refreshWhy: explain, startAt: place => player.startAt(place),
  };
  const scene = task.points ? makeGrid(shared) : makePlane(shared);
  const player = makePlayer({ task, policy: () => shown()[0], nameOf, placeName, colour: scene.colour, visit, announce });
  for (const choice of choices("view")) {
    const which = choice.value === "both" ? [0, 1] : [Number(choice.value)];
    choice.addEventListener("change", () => setView(which));
    if (choice.checked) view.shown = which;
  }
  [lists, byId("findings"), ...scene.areas].filter(Boolean).forEach(listen);
  byId("findings")?.addEventListener("click", event => { if (subjectOf(event.target)) scene.scroll(); });
  byId("away").lastElementChild.addEventListener("click", scene.scroll);
  new IntersectionObserver(entries => {
    const { intersectionRect, boundingClientRect } = entries.at(-1);
    boardSeen = intersectionRect.height > 0.4 * Math.min(boundingClientRect.height, innerHeight);
    away();
  }, { threshold: [0, 0.1, 0.2, 0.3, 0.4, 0.5] }).observe(byId("board"));
  why.addEventListener("scroll", cue);
  new ResizeObserver(cue).observe(why);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  document.addEventListener("keydown", event => { if (event.key === "Escape") choose(null); });
  setView(view.shown);
  if (front) makeFront(front, announce);
})();
