"use strict";
// All states as a table that can be sorted and filtered, a page at a time.

const ROWS = 500;
const WIDEST_MENU = 100;

function makeTable({ task, policies, shown, valuesOf, nameOf, differ, refresh }) {
  const now = { sort: null, down: false, filters: new Map(), page: 0 };

  function columnsOf(policy) {
    const mark = shown().length === 2 ? `${policy.name}: ` : "";
    const rule = place => policy.decider[place] < 0 ? null : policy.decider[place] + 1;
    return [
      { name: `${mark}action`, words: true, of: place => nameOf(policy.chosen[place]) },
      { name: `${mark}rule`, of: rule },
      { name: `${mark}value`, of: place => policy.value[place] },
      { name: `${mark}cost`, of: place => policy.cost[place] },
      { name: `${mark}rules that agree`, of: place => policy.density[place] },
      { name: `${mark}visits`, of: place => policy.visits[place] },
    ];
  }

  function allColumns() {
    const features = task.features.map((f, d) => ({ name: f.name, of: place => task.points[place][d] }));
    return [...features, ...shown().flatMap(columnsOf), { name: "optimal value", of: place => task.best[place] }];
  }

  function sortedPlaces(columns) {
    let places = Array.from({ length: task.decisions }, (_, place) => place);
    for (const keep of now.filters.values()) places = places.filter(keep);
    const key = columns[now.sort]?.of, turn = now.down ? -1 : 1;
    if (!key) return places;
    const compare = (a, b) => (a === null) - (b === null) || (a < b ? -turn : a > b ? turn : 0);
    return places.sort((a, b) => compare(key(a), key(b)) || a - b);
  }

  function sortBy(i) {
    [now.down, now.sort] = [now.sort === i && !now.down, i];
    build();
    byId("table").querySelectorAll("th button")[i].focus();
  }

  function heading(column, i) {
    const button = make("button", { type: "button" }, column.name);
    button.addEventListener("click", () => sortBy(i));
    const order = now.sort === i && (now.down ? "descending" : "ascending");
    return make("th", { scope: "col", class: column.words ? "" : "n", "aria-sort": order }, button);
  }

  function row(place, columns, first) {
    const cells = columns.map(column => {
      const value = column.of(place);
      return make("td", { class: column.words ? "" : "n" }, column.words ? value : full(value));
    });
    const options = { "data-place": place, tabindex: first ? "0" : "-1", class: differ(place) ? "differs" : "" };
    return make("tr", options, ...cells);
  }

  function build() {
    if (!byId("states").open) return;
    const columns = allColumns(), places = sortedPlaces(columns), pages = Math.max(1, Math.ceil(places.length / ROWS));
    now.page = Math.max(0, Math.min(now.page, pages - 1));
    const rows = places.slice(now.page * ROWS, (now.page + 1) * ROWS).map((place, i) => row(place, columns, i === 0));
    const head = make("thead", {}, make("tr", {}, ...columns.map(heading)));
    byId("table").replaceChildren(make("table", {}, head, make("tbody", {}, ...rows)));
    byId("pages").hidden = pages === 1;
    byId("page").textContent = `${plural(places.length, "state")}, page ${now.page + 1} of ${pages}`;
    byId("previous").disabled = now.page === 0;
    byId("next").disabled = now.page === pages - 1;
    sideways();
    refresh();
  }

  // Columns that do not fit are announced: not every system shows scroll bars.
  function sideways() {
    const { scrollWidth, clientWidth, scrollLeft } = byId("table");
    byId("sideways").hidden = scrollWidth <= clientWidth;
    byId("table").classList.toggle("cut", scrollWidth - clientWidth - scrollLeft > 4);
  }

  function filter(key, keep) {
    if (keep) now.filters.set(key, keep);
    else now.filters.delete(key);
    now.page = 0;
    build();
  }

  function filters() {
    const parts = [];
    task.features.forEach((f, d) => {
      if (f.high - f.low >= WIDEST_MENU) return;
      const options = [["", "any"], ...valuesOf(d).map(value => [value, value])];
      const act = text => filter(d, text === "" ? null : place => task.points[place][d] === Number(text));
      parts.push(make("label", {}, `${f.name} `, menu(options, "", act)));
    });
    if (policies.length === 2) parts.push(tick("only where they differ", false, on => filter("differ", on ? differ : null)));
    byId("filters").replaceChildren(...parts);
  }

  function turn(by) {
    now.page += by;
    build();
  }

  byId("states").addEventListener("toggle", build);
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  byId("table").addEventListener("scroll", sideways);
  new ResizeObserver(sideways).observe(byId("table"));
  filters();
  return { build };
}
