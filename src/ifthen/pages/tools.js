"use strict";
// Small tools: elements, numbers and words.

const GOLDEN_ANGLE = 137.508;
const SVG = "http://www.w3.org/2000/svg";
const byId = id => document.getElementById(id);
const choices = name => document.querySelectorAll(`input[name=${name}]`);

function make(tag, options = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...inside.filter(part => part !== null && part !== undefined));
  return element;
}

function drawing(tag, options, ...inside) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(options)) element.setAttribute(name, value);
  element.append(...inside);
  return element;
}

function arrow(direction, worse = false) {
  const path = drawing("path", { d: "M5 1.2V8.4M2.2 5.7 5 8.6 7.8 5.7" });
  return drawing("svg", { viewBox: "0 0 10 10", "aria-hidden": "true", class: `arrow ${direction}${worse ? " worse" : ""}` }, path);
}

function setClasses(element, classes) {
  for (const [name, on] of Object.entries(classes)) element.classList.toggle(name, on);
}

const mark = (element, state) => setClasses(element, { match: state === "match", decided: state === "decided" });
const swatch = look => make("span", { class: `swatch ${look}` });
const key = (sign, text) => make("span", { class: "key" }, sign, ` ${text}`);

// A choice between values: options are [value, label] pairs.
function menu(options, chosen, act, attributes = {}) {
  const items = options.map(([value, label]) => make("option", { value, selected: value === chosen }, `${label}`));
  const select = make("select", attributes, ...items);
  select.addEventListener("change", () => act(select.value));
  return select;
}

function tick(label, checked, act) {
  const box = make("input", { type: "checkbox", checked });
  box.addEventListener("change", () => act(box.checked));
  return make("label", {}, box, ` ${label}`);
}

// A rule's words, so that lines break between its conditions.
function ruleText(words) {
  return words.split(/(?= AND | THEN )/).map(part => make("span", { class: "whole" }, part));
}

const minus = text => text.replace("-", "−");
const capital = text => text.charAt(0).toUpperCase() + text.slice(1);
const plural = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
const percent = share => (share > 0 && share < 0.01 ? "< 1" : Math.round(100 * share)) + " %";
const hue = rule => (rule * GOLDEN_ANGLE + 205) % 360;
const full = value => value === null || value === undefined ? "–" : minus(String(Number(value.toPrecision(4))));

// A number with as few characters as a cell has room for.
function short(value) {
  if (value === null) return "";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1000) return minus(String(value));
  if (size < 0.005) return "≈0";
  const digits = size >= 99.5 ? 0 : size >= 0.995 ? 1 : 2;
  return minus(value.toFixed(digits).replace(/^(-?)0\./, "$1."));
}
