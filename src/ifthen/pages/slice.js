"use strict";
// Which two features are drawn, and the values at which the others are fixed.

const MOST_DRAWN = 12;  // of more features than this, only those that matter most can be moved

// `home` returns where the others are fixed at first, `where` names that place.
function makeSlice({ task, view, valueOf, home, where, up, order, changed }) {
  function axis(i, label) {
    const act = text => {
      const before = view.axes[i];
      view.axes[i] = Number(text);
      if (view.axes[1 - i] === view.axes[i]) view.axes[1 - i] = before;
      rebuild();
    };
    return make("label", {}, `${label} `, menu(task.features.map((f, d) => [d, f.name]), view.axes[i], act, { id: `axis-${i}` }));
  }

  function slider(d) {
    const { name, low, high, whole } = task.features[d], shown = make("output", {}, valueOf(d, view.fixed[d]));
    const input = make("input", { type: "range", min: low, max: high, step: whole ? 1 : "any", "data-feature": d, "aria-label": name });
    input.value = view.fixed[d];
    input.addEventListener("input", () => {
      const value = Number(input.value);
      view.fixed[d] = whole ? value : Number(value.toPrecision(4));
      shown.textContent = valueOf(d, view.fixed[d]);
      changed();
    });
    return make("label", { class: "fixed" }, make("span", {}, name), input, shown);
  }

  function heading() {
    const button = make("button", { type: "button", id: "middle" }, `back to ${where}`);
    button.addEventListener("click", () => { view.fixed = home().slice(); rebuild(); });
    return make("p", { class: "note" }, "All others are fixed: ", button);
  }

  function build() {
    byId("slice").hidden = task.features.length < (up === "up" ? 3 : 2) || task.grid === true;
    byId("slice").replaceChildren(...view.axes.map((_, i) => axis(i, i ? up : "across")));
    const others = order().filter(d => !view.axes.includes(d)).slice(0, MOST_DRAWN).sort((a, b) => a - b);
    byId("fixed").replaceChildren(...(others.length ? [heading(), ...others.map(slider)] : []));
  }

  function rebuild() {
    build();
    changed();
  }

  return { build, fix(point) { view.fixed = point.slice(); rebuild(); } };
}
