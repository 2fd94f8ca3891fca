"use strict";
(() => {
  // Choices: which measure, which scale; one choice for the whole page.
  for (const name of ["measure", "scale"]) {
    for (const choice of document.querySelectorAll(`input[data-choice="${name}"]`)) {
      choice.addEventListener("change", () => {
        document.body.dataset[name] = choice.value;
        for (const twin of document.querySelectorAll(`input[data-choice="${name}"]`)) {
          twin.checked = twin.value === choice.value;
        }
      });
    }
  }
})();
