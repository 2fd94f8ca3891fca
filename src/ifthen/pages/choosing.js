"use strict";
// What rules do at a point, number for number as in Python. Used where states cannot be listed.

const MANY_ENDS = 100;  // of more rules than this that compare scores, the ends of intervals are not tried

// Behind the features of a condition stand terms: sums of features, added up in the same order as in Python.
const termValue = ({ of }, point) => of.reduce((total, [d, coefficient]) => total + coefficient * point[d], 0);
const valueAt = (policy, point, d) => d < point.length ? point[d] : termValue(policy.terms[d - point.length], point);
// An interval of a cyclic feature that begins above its end goes round the end of the range.
const holds = ([low, high], value) => low > high ? value >= low || value <= high : low <= value && value <= high;
const inside = (policy, rule, point) => policy.bounds[rule].every((ends, d) => holds(ends, valueAt(policy, point, d)));
const restricts = ({ low, high }, [from, to]) => from > low || to < high;
// Whether a rule's condition has slanted borders: it restricts a term.
const slanted = ({ bounds, terms }, rule) => terms.some((term, t) => restricts(term, bounds[rule][bounds[rule].length - terms.length + t]));
const allRules = policy => (policy.everyRule ??= policy.actions.map((_, rule) => rule));
const matching = (policy, point, among = allRules(policy)) => among.filter(rule => inside(policy, rule, point));
const actionAt = (policy, rule) => rule < 0 ? -1 : policy.actions[rule];

function score({ scoring }, rule, point) {
  let total = scoring.constants[rule];
  for (let d = 0; d < point.length; d++) total += scoring.slopes[rule][d] * point[d];
  return total - scoring.deductions[rule];
}

// The average or added-up score of every action that a matching rule proposes, by action in order.
function averages(policy, point, rules) {
  const { votes, adds } = policy.scoring, sums = new Map(), totals = new Map();
  for (const rule of rules) {
    const action = policy.actions[rule];
    sums.set(action, (sums.get(action) ?? 0) + votes[rule] * score(policy, rule, point));
    totals.set(action, (totals.get(action) ?? 0) + votes[rule]);
  }
  return new Map([...sums.keys()].sort((a, b) => a - b).map(action => [action, adds ? sums.get(action) : sums.get(action) / totals.get(action)]));
}

// The ways to choose: which rule decides (-1 for none), why, and how the other matching rules are ordered and noted.
const FIRST = {
  decide: (policy, point, among) => among.find(rule => inside(policy, rule, point)) ?? -1,
  reason: () => "It is the first that matches.",
  order: (policy, rule) => rule,
  note: () => "",
};
const HIGHEST = {
  decide(policy, point, among) {
    let best = -1, top = -Infinity;
    for (const rule of among) {
      if (!inside(policy, rule, point)) continue;
      const own = score(policy, rule, point), action = policy.actions[rule];
      if (best < 0 || own > top || (own === top && action < policy.actions[best])) [best, top] = [rule, own];
    }
    return best;
  },
  reason: (policy, point, rule) => `It is the strongest that matches: ${full(score(policy, rule, point))}.`,
  order: (policy, rule, point) => -score(policy, rule, point),
  note: (policy, rule, point) => ` (${full(score(policy, rule, point))})`,
};
const BY_VOTES = {
  decide(policy, point, among) {
    const { votes } = policy.scoring, rules = matching(policy, point, among), array = averages(policy, point, rules);
    let action = -1, best = -1;
    for (const [own, value] of array) if (action < 0 || value > array.get(action)) action = own;
    for (const rule of rules) if (policy.actions[rule] === action && (best < 0 || votes[rule] > votes[best])) best = rule;
    return best;
  },
  reason(policy, point, _, nameOf) {
    const array = averages(policy, point, matching(policy, point));
    return `${policy.scoring.adds ? "Strengths" : "Predicted payoffs"}: ${[...array].map(([action, value]) => `${nameOf(action)} ${full(value)}`).join(", ")}.`;
  },
  order: (policy, rule) => -policy.scoring.votes[rule],
  note: () => "",
};

// The only place that asks how a policy chooses.
function chooser({ scoring }) {
  if (!scoring) return FIRST;
  return scoring.votes ? BY_VOTES : HIGHEST;
}

const decider = (policy, point, among = allRules(policy)) => chooser(policy).decide(policy, point, among);

function clip(features, point) {
  return point.map((value, d) => Math.min(Math.max(value, features[d].low), features[d].high));
}

// The nearest other value of one feature that leads to another action; null where there is none.
function nearestChange(policy, features, point, d) {
  const { low, high } = features[d], here = actionAt(policy, decider(policy, point)), far = ({ value }) => Math.abs(value - point[d]);
  const slopes = policy.terms.map(term => term.of.find(([e]) => e === d)?.[1] ?? 0), n = features.length;
  const others = allRules(policy).filter(rule => policy.bounds[rule].every((ends, e) => {
    return e === d || (e >= n && slopes[e - n]) || holds(ends, valueAt(policy, point, e));
  }));
  const crossings = slopes.flatMap((slope, t) => slope ? others.flatMap(rule => policy.bounds[rule][n + t]).map(end => point[d] + (end - termValue(policy.terms[t], point)) / slope) : []);
  const places = [...changePlaces(policy, others, d, features[d]), ...around(crossings, features[d])].filter(({ value }) => low <= value && value <= high);
  for (const place of places.sort((a, b) => far(a) - far(b))) {
    const moved = point.slice();
    moved[d] = place.value;
    const rule = decider(policy, moved, others), action = actionAt(policy, rule);
    if (action !== here) return { ...place, rule, action, distance: far(place) / (high - low || 1) };
  }
  return null;
}

// The values on both sides of those at which a term reaches the end of an interval.
function around(crossings, { low, high, whole }) {
  const tiny = (high - low) * 1e-9, at = value => ({ sign: "=", end: value, value });
  return [...new Set(crossings)].flatMap(end => whole
    ? [Math.floor(end) - 1, Math.floor(end), Math.ceil(end), Math.ceil(end) + 1].map(at)
    : [{ sign: "<", end, value: end - tiny }, { sign: ">", end, value: end + tiny }]);
}

// Values at which something can change: the ends of intervals and the values just beyond them.
function changePlaces(policy, rules, d, { low, high, whole }) {
  const at = value => ({ sign: "=", end: value, value }), tiny = (high - low) * 1e-9;
  const below = end => whole ? at(end - 1) : { sign: "<", end, value: end - tiny };
  const above = end => whole ? at(end + 1) : { sign: ">", end, value: end + tiny };
  const ends = policy.ordered || rules.length <= MANY_ENDS ? rules.flatMap(rule => policy.bounds[rule][d]) : [];
  const places = [...new Set(ends)].flatMap(end => [at(end), below(end), above(end)]);
  if (policy.ordered) return places;
  const steps = whole ? Math.min(high - low, 200) : 200;
  for (let i = 0; i <= steps; i++) places.push(at(whole ? Math.round(low + (high - low) * i / steps) : low + (high - low) * i / steps));
  return places;
}
