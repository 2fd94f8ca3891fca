"use strict";
(() => {
  const body = document.body, tip = document.getElementById("tip");
  const data = JSON.parse(document.getElementById("curve-data").textContent);
  const names = JSON.parse(document.getElementById("system-names").textContent);
  const WIDTH = 260;

  // Choices: which systems, which measure, which scale.
  for (const box of document.querySelectorAll("input[data-system]")) {
    box.addEventListener("change", () => {
      for (const part of document.querySelectorAll(".s" + box.dataset.system)) {
        part.style.display = box.checked ? "" : "none";
      }
    });
  }
  for (const name of ["measure", "scale"]) {
    for (const choice of document.querySelectorAll(`input[data-choice="${name}"]`)) {
      choice.addEventListener("change", () => {
        body.dataset[name] = choice.value;
        for (const twin of document.querySelectorAll(`input[data-choice="${name}"]`)) {
          twin.checked = twin.value === choice.value;
        }
      });
    }
  }

  const show = (text, x, y) => {
    tip.textContent = text;
    tip.style.display = "block";
    const room = window.innerWidth - tip.offsetWidth - 8;
    tip.style.left = Math.max(4, Math.min(x + 14, room)) + "px";
    const below = y + 18 + tip.offsetHeight < window.innerHeight;
    tip.style.top = (below ? y + 18 : y - tip.offsetHeight - 10) + "px";
  };
  const hide = () => { tip.style.display = "none"; };

  // Curves: the values at the epoch under the pointer, or where the arrow keys have moved to.
  const shown = system => {
    const box = document.querySelector(`input[data-system="${system}"]`);
    return !box || box.checked;
  };
  const values = (task, at) => {
    const panel = data[task];
    const lines = panel.lines.filter(line => line.measure === body.dataset.measure && shown(line.system));
    const width = Math.max(...names.map(name => name.length));
    const texts = lines.map(line => {
      const mean = line.mean[at], sd = line.sd && line.sd[at] !== null ? " ± " + line.sd[at].toFixed(3) : "";
      return names[line.system].padEnd(width) + "  " + (mean === null ? "no rule" : mean.toFixed(3) + sd);
    });
    return [`${task}, epoch ${panel.epochs[at]}`, ...texts].join("\n");
  };
  for (const svg of document.querySelectorAll("svg.curve")) {
    const task = svg.dataset.task, cross = svg.querySelector(".cross"), epochs = data[task].epochs;
    const last = Math.max(epochs[epochs.length - 1], 1);
    let at = epochs.length - 1;
    const move = (to, x, y) => {
      at = Math.max(0, Math.min(epochs.length - 1, to));
      const place = WIDTH * epochs[at] / last;
      cross.setAttribute("x1", place);
      cross.setAttribute("x2", place);
      cross.style.visibility = "visible";
      const frame = svg.querySelector(".frame").getBoundingClientRect();
      show(values(task, at), x ?? frame.left + frame.width * place / WIDTH, y ?? frame.top);
    };
    const leave = () => { cross.style.visibility = "hidden"; hide(); };
    svg.addEventListener("pointermove", event => {
      const frame = svg.querySelector(".frame").getBoundingClientRect();
      const epoch = (event.clientX - frame.left) / frame.width * last;
      let nearest = 0;
      epochs.forEach((value, i) => {
        if (Math.abs(value - epoch) < Math.abs(epochs[nearest] - epoch)) nearest = i;
      });
      move(nearest, event.clientX, event.clientY);
    });
    svg.addEventListener("pointerleave", leave);
    svg.addEventListener("blur", leave);
    svg.addEventListener("keydown", event => {
      const steps = { ArrowLeft: -1, ArrowRight: 1, PageDown: -25, PageUp: 25, Home: -1e9, End: 1e9 };
      if (event.key === "Escape") leave();
      if (!(event.key in steps)) return;
      event.preventDefault();
      move(at + steps[event.key]);
    });
  }
})();
