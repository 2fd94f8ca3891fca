"use strict";
// An episode, step by step. Episodes are those that the policy is measured on, as they were played.

const PACE = 650;  // milliseconds per step

function makePlayer({ task, policy, cellOf, nameOf, actionOf, visit, announce }) {
  const now = { episode: null, at: 0, timer: null, begun: false };

  function fillStarts(title) {
    byId("player-title").textContent = title;
    const starts = [...new Set(policy().episodes.map(episode => episode.path[0]))];
    byId("start").replaceChildren(...starts.map(place => make("option", { value: place }, nameOf(place))));
    fillEpisodes();
  }

  function fillEpisodes() {
    const start = Number(byId("start").value), all = policy().episodes;
    const own = all.map((_, i) => i).filter(i => all[i].path[0] === start);
    const options = own.map((number, i) => make("option", { value: number }, `${i + 1} (episode ${all[number].number} of z)`));
    byId("episode").replaceChildren(...options);
    load();
  }

  function load() {
    pause();
    now.episode = policy().episodes[Number(byId("episode").value)];
    now.at = 0;
    byId("time").max = last();
    show();
  }

  function startAt(place) {
    if (![...byId("start").options].some(option => Number(option.value) === place)) return;
    byId("start").value = place;
    fillEpisodes();
    goTo(0);
    byId("forward").focus();
  }

  const last = () => now.episode.path.length - 1;
  const rewardAt = t => now.episode.rewards[t] ?? now.episode.usual;

  function returnUpTo(steps) {
    let total = 0;
    for (let t = steps - 1; t >= 0; t--) total = rewardAt(t) + task.gamma * total;
    return total;
  }

  function said(place, verb) {
    const rule = policy().decider[place];
    return rule < 0 ? "no rule matches" : `rule ${rule + 1} ${verb} ${actionOf(policy(), place)}`;
  }

  function tell() {
    const { path, slips, ended } = now.episode, place = path[now.at], before = path[now.at - 1];
    const parts = [make("b", {}, `Step ${now.at} of ${last()}. `)];
    if (now.at === 0) {
      parts.push(`It starts at ${nameOf(place)}. `);
    } else {
      const slipped = slips.includes(now.at - 1) ? make("b", {}, `, but ${task.slip}`) : "";
      parts.push(`At ${nameOf(before)} ${said(before, "said")}`, slipped);
      parts.push(`: now ${nameOf(place)}. Reward ${full(rewardAt(now.at - 1))}. `);
    }
    parts.push(now.at === last() ? make("b", {}, `${ended} `) : `Next, ${said(place, "says")}. `);
    parts.push(`Return so far ${full(returnUpTo(now.at))}.`);
    byId("said").replaceChildren(...parts);
  }

  function show() {
    const { path } = now.episode, here = cellOf(path[now.at]), been = new Set(path.slice(0, now.at).map(cellOf));
    for (const cell of document.querySelectorAll(".cell")) {
      cell.classList.toggle("agent", now.begun && cell === here);
      cell.classList.toggle("trail", now.begun && been.has(cell));
    }
    byId("time").value = now.at;
    byId("back").disabled = byId("reset").disabled = now.at === 0;
    byId("forward").disabled = now.at === last();
    if (now.begun) tell();
  }

  function goTo(at) {
    now.begun = true;
    now.at = Math.max(0, Math.min(last(), at));
    visit(now.episode.path[now.at]);
    show();
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
    goTo(at());
  }

  byId("start").addEventListener("change", () => { fillEpisodes(); goTo(0); });
  byId("episode").addEventListener("change", () => { load(); goTo(0); });
  byId("play").addEventListener("click", playOrPause);
  byId("reset").addEventListener("click", () => stepTo(() => 0));
  byId("back").addEventListener("click", () => stepTo(() => now.at - 1));
  byId("forward").addEventListener("click", () => stepTo(() => now.at + 1));
  byId("time").addEventListener("input", () => stepTo(() => Number(byId("time").value)));
  return { fillStarts, startAt, show };
}
