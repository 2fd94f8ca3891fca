"use strict";
// What rules do at a point, number for number as elsewhere. A policy has its bounds, actions and what was learnt.

const MOST_DRAWN = 12;  // of more features than this, those that matter most are drawn over time and can be moved

const inside = (policy, rule, point) =>
  policy.bounds[rule].every(([low, high], d) => low <= point[d] && point[d] <= high);

function predicted(policy, rule, point) {
  const weights = policy.weights[rule];
  let total = weights[0] * policy.x0;
  for (let d = 0; d < point.length; d++) total += weights[d + 1] * point[d];
  return total;
}

const strength = (policy, rule, point) => predicted(policy, rule, point) - policy.deviations[rule];

const allRules = policy => (policy.everyRule ??= policy.actions.map((_, rule) => rule));

// The rule that decides, -1 for none. `among` holds the rules that can match, in their order.
const DECIDE = {
  "decision-list": (policy, point, among) => among.find(rule => inside(policy, rule, point)) ?? -1,

  strength(policy, point, among) {
    let best = -1, top = -Infinity;
    for (const rule of among) {
      if (!inside(policy, rule, point)) continue;
      const own = strength(policy, rule, point), action = policy.actions[rule];
      if (best < 0 || own > top || (own === top && action < policy.actions[best])) [best, top] = [rule, own];
    }
    return best;
  },

  "prediction-array"(policy, point, among) {
    const matching = among.filter(rule => inside(policy, rule, point)), array = predictionArray(policy, point, matching);
    let action = -1;
    for (const [own, value] of array) if (action < 0 || value > array.get(action)) action = own;
    let best = -1;
    for (const rule of matching) {
      if (policy.actions[rule] === action && (best < 0 || policy.fitness[rule] > policy.fitness[best])) best = rule;
    }
    return best;
  },
};

// The predicted payoff of every action that a matching rule speaks for, by action in order.
function predictionArray(policy, point, matching) {
  const sums = new Map(), totals = new Map();
  for (const rule of matching) {
    const action = policy.actions[rule], fitness = policy.fitness[rule];
    sums.set(action, (sums.get(action) ?? 0) + fitness * predicted(policy, rule, point));
    totals.set(action, (totals.get(action) ?? 0) + fitness);
  }
  return new Map([...sums.keys()].sort((a, b) => a - b).map(action => [action, sums.get(action) / totals.get(action)]));
}

const decider = (policy, point, among = allRules(policy)) => DECIDE[policy.kind](policy, point, among);
const actionAt = (policy, rule) => rule < 0 ? -1 : policy.actions[rule];

function clip(features, point) {
  return point.map((value, d) => Math.min(Math.max(value, features[d].low), features[d].high));
}

// The nearest other value of one feature at which something else is done; null where there is none.
function nearestChange(policy, features, point, d) {
  const { low, high } = features[d], here = actionAt(policy, decider(policy, point)), far = ({ value }) => Math.abs(value - point[d]);
  const others = allRules(policy).filter(rule => policy.bounds[rule].every(([from, to], e) => e === d || (from <= point[e] && point[e] <= to)));
  const places = changePlaces(policy, others, d, features[d]).filter(({ value }) => low <= value && value <= high);
  for (const place of places.sort((a, b) => far(a) - far(b))) {
    const moved = point.slice();
    moved[d] = place.value;
    const rule = decider(policy, moved, others), action = actionAt(policy, rule);
    if (action !== here) return { ...place, rule, action, distance: far(place) / (high - low || 1) };
  }
  return null;
}

const MANY_ENDS = 100;  // rules whose ends are all looked at

// Values at which something can change: ends of intervals, and what lies just beyond them.
function changePlaces(policy, rules, d, { low, high, whole }) {
  const at = value => ({ sign: "=", end: value, value }), tiny = (high - low) * 1e-9;
  const below = end => whole ? at(end - 1) : { sign: "<", end, value: end - tiny };
  const above = end => whole ? at(end + 1) : { sign: ">", end, value: end + tiny };
  const list = policy.kind === "decision-list", ends = list || rules.length <= MANY_ENDS ? rules.flatMap(rule => policy.bounds[rule][d]) : [];
  const places = [...new Set(ends)].flatMap(end => [at(end), below(end), above(end)]);
  if (list) return places;
  const steps = whole ? Math.min(high - low, 200) : 200;
  for (let i = 0; i <= steps; i++) places.push(at(whole ? Math.round(low + (high - low) * i / steps) : low + (high - low) * i / steps));
  return places;
}
