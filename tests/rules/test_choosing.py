"""What every kind of ruleset says of how it chooses agrees with what it chooses."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given

from ifthen import RuleSet
from tests.rulesets import all_states, rulesets

POINTS = all_states().astype(np.float64)


@given(rulesets())
def test_the_rule_that_decides_is_the_only_matching_one_that_no_rule_beats(ruleset: RuleSet) -> None:
    matching = ruleset.matches(POINTS)
    _, deciders = ruleset.decide(matching, POINTS)
    unbeaten = np.column_stack([~ruleset.beats(r, matching, POINTS).any(axis=1) for r in range(len(ruleset))])
    assert np.array_equal(unbeaten & matching, deciders[:, None] == np.arange(len(ruleset)))


@given(rulesets())
def test_a_comparison_names_the_deciding_rule_and_ranks_every_other_that_matches(ruleset: RuleSet) -> None:
    actions, deciders = ruleset.choose(POINTS)
    for point, action, decider in zip(POINTS[::7], actions[::7], deciders[::7], strict=True):
        matching = ruleset.matches(point)
        told = ruleset.comparison(point)
        if told is None:
            assert action == decider == -1
            continue
        assert (told.rule, ruleset.action_of(told.rule)) == (decider, ruleset.action_names[action])
        ranking = [told.rule, *(lost.rule for lost in told.others)]
        assert sorted(ranking) == np.flatnonzero(matching).tolist()
        for better, worse in pairwise(ranking):
            assert ruleset.beats(worse, matching[None], point[None])[0, better]


@given(rulesets())
def test_scores_of_code_make_the_same_choice(ruleset: RuleSet) -> None:
    scoring = ruleset.scoring
    assert (scoring is None) == ruleset.ordered
    if scoring is None:
        return
    assert (scoring.votes is None) != ruleset.votes
    for point, matching, expected in zip(
        POINTS, ruleset.matches(POINTS), ruleset.best_actions(POINTS), strict=True
    ):
        sums: dict[int, float] = {}
        totals: dict[int, float] = {}
        for r in np.flatnonzero(matching).tolist():
            score = float(scoring.constants[r])
            for slope, value in zip(scoring.slopes[r].tolist(), point.tolist(), strict=True):
                score += slope * value
            score -= float(scoring.deductions[r])
            action = int(ruleset.actions[r])
            if scoring.votes is None:
                sums[action], totals[action] = max(score, sums.get(action, score)), 1.0
            else:
                vote = float(scoring.votes[r])
                sums[action] = sums.get(action, 0.0) + vote * score
                totals[action] = totals.get(action, 0.0) + vote
        best = min(sums, key=lambda a: (-(sums[a] / totals[a]), a), default=-1)
        assert best == expected
