"""The parameters of PPL-X."""

from __future__ import annotations

from typing import Literal

from ifthen.systems.parameters import Parameters, between, setting

MOST_RULES = 200


class PPLXParameters(Parameters):
    """Parameters of PPL-X."""

    collect: int = between(
        30_000,
        10,
        10_000_000,
        "On tables: episodes to collect, in ten rounds, before lists are searched for.",
    )
    model: Literal["learnt", "given"] = setting(
        "learnt", "On tables: values by the counted transitions, or by the task's own, without any episode."
    )
    candidates: int | None = between(
        None,
        1,
        100_000_000,
        "On tables: lists to try for every length; by the states where not given.",
    )
    most_rules: int | None = between(
        None, 1, MOST_RULES, "On tables: rules of the longest list; by the number of states where not given."
    )
    knee: float | None = between(
        None,
        0,
        1,
        "The ruleset is the shortest list that gives up at most this share of what the best gains over the "
        "shortest; where not given 0.001 on tables, and in environments 0.01, or a standard error of the "
        "best one's score if that is more.",
    )
    rules: int | None = between(
        None,
        1,
        MOST_RULES,
        "The ruleset is the best list with at most this many rules; the knee where not given.",
    )
    tests: int | None = between(
        None,
        0,
        100_000,
        "The ruleset is the best list with at most this many comparisons (x ≤ 3 is one), likewise.",
    )
    steps: int | None = between(
        None,
        1_000,
        10**10,
        "In environments: steps of the whole plan; as many as take a minute or two where not given.",
    )
    terms: bool = setting(True, "In environments: whether to look for sums of two features to compare.")
    given_terms: list[str] = setting(
        [],
        "In environments: sums of features that rules may compare, each with a name and a unit, such as "
        "'tilt error [rad] = 0.5*x + x velocity - angle'.",
    )
    imitate: bool = setting(
        False,
        "With a teacher: lists are scored by how well they imitate it, not by their returns, and not tuned.",
    )
