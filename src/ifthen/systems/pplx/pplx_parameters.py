"""The parameters of PPL-X."""

from __future__ import annotations

from typing import Literal

from ifthen.systems.parameters import Parameters, between, setting

MOST_RULES = 200
LEAST_STEPS = 1_000
"""A plan in an environment has at least this many steps."""


class PPLXParameters(Parameters):
    """Parameters of PPL-X."""

    collect: int = between(
        30_000,
        10,
        10_000_000,
        "On tables: episodes to collect, in ten rounds, before lists are searched for.",
    )
    model: Literal["learnt", "given"] = setting(
        "learnt",
        "On tables: whether transitions are counted in episodes, or given by the task's own table.",
    )
    candidates: int | None = between(
        None,
        1,
        100_000_000,
        "On tables, and where observations are counted: lists to try for every length; by default it depends "
        "on the number of states.",
    )
    most_rules: int | None = between(
        None,
        1,
        MOST_RULES,
        "On tables, and where observations are counted: rules of the longest list; by default it depends on "
        "the number of states.",
    )
    knee: float | None = between(
        None,
        0,
        1,
        "The ruleset is the shortest list that gives up at most this share of the best list's gain over the "
        "shortest. By default 0.001 on tables; in environments 0.0025, or a standard error of the best "
        "score if that is more, up to a tenth; more than ten rules must gain 0.025.",
    )
    rules: int | None = between(
        None,
        1,
        MOST_RULES,
        "The ruleset is the best list with at most this many rules; by default the knee decides.",
    )
    tests: int | None = between(
        None,
        0,
        100_000,
        "The ruleset is the best list with at most this many comparisons (x ≤ 3 is one); by default the knee "
        "decides.",
    )
    steps: int | None = between(
        None,
        LEAST_STEPS,
        10**10,
        "In environments: steps of the whole plan; by default as many as take a minute or two.",
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
