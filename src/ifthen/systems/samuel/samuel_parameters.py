"""The parameters of SAMUEL, and what its two versions set differently.

Defaults are those of the User's Guide to SAMUEL-97 (Grefenstette 1997), unless the meaning says otherwise.
Version 1 is the author's own approximation of the system of 1990 in the system of 1991.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ifthen.systems.parameters import Parameters, above, between, linear, logarithmic, setting

BY_VERSION: Mapping[str, tuple[Any, Any]] = {
    "most_rules": (32, 256),
    "bid_power": (1.0, 10.0),
    "caution": (1.0, 0.1),
    "p_mut": (0.01, 0.0),
    "spec_level": (1.0, 0.5),
    "mutation": (0.0, 1.0),
    "creep": (0.0, 1.0),
    "generalize": (0.0, 1.0),
    "merge": (0.0, 1.0),
}
"""The defaults of version 1 and of version 2, where these differ."""
OPERATORS = ("mutation", "creep", "specialize", "generalize", "cover", "avoid", "merge")
"""The operators that add a rule, in the order of their rates."""


def rate(default: float | None, meaning: str) -> Any:
    """Declare the relative rate of an operator; 0 switches it off."""
    return between(default, 0, 1000, meaning, linear(0, 3))


class SAMUELParameters(Parameters):
    """Parameters of SAMUEL."""

    version: Literal[1, 2] = setting(
        2,
        "1 for the system of 1990 (as its author approximated it), 2 for that of 1991 to 1997. It sets the "
        "defaults of several parameters.",
    )
    pop_size: int = between(100, 2, 100_000, "Plans in the population, even.", logarithmic(20, 400, 2))
    most_rules: int | None = between(
        None, 1, 10_000, "The most rules of a plan; 256 in version 2, 32 in version 1 (our guess)."
    )
    first_mean: float = between(
        0.5, 0, 1, "The mean payoff that first rules begin with, on a scale from 0 to 1."
    )
    bid_power: float | None = between(
        None,
        0,
        10,
        "The power that bids are raised to: 0 for equal odds, 1 for odds by strength (version 1), 10 for the "
        "highest bids only (version 2).",
    )
    learning_rate: float = above(
        0.01, 0, 1, "How far a rule moves towards the payoff of an episode.", logarithmic(0.002, 0.2)
    )
    caution: float | None = between(
        None,
        0,
        100,
        "How many standard deviations a rule's strength lies below its mean payoff: 1 in version 1, 0.1 in "
        "version 2.",
    )
    payoff: Literal["sum", "return"] = setting(
        "sum", "An episode's payoff: the sum of its rewards (published), or its discounted return."
    )
    pre_episodes: int = between(
        20, 0, 100_000, "Episodes in which strengths learn before operators make rules."
    )
    post_episodes: int = between(
        20, 0, 100_000, "Episodes in which strengths learn after operators made rules."
    )
    cluster_episodes: int = between(
        20,
        0,
        100_000,
        "Episodes to find out which rules act together. Crossover keeps the rules of the best one together.",
    )
    fitness_episodes: int = between(
        20, 1, 100_000, "Episodes that a plan's fitness is measured in.", logarithmic(5, 80)
    )
    retest_every: int = between(5, 1, 1_000_000, "Generations between two tests of the best plans.")
    retest_share: float = above(0.2, 0, 1, "The share of plans that are tested again, the best ones.")
    retest_episodes: int = between(100, 1, 100_000, "Episodes of such a test. Its best plan is handed out.")
    baseline_rate: float = above(
        0.1, 0, 1, "The share of the way to its target that the baseline moves in a generation."
    )
    baseline_deviations: float = between(
        1.0, 0, 100, "The baseline's target is this many standard deviations below the mean fitness."
    )
    p_cross: float = between(1.0, 0, 1, "Probability that two parents are crossed.", linear(0, 1))
    p_mut: float | None = between(
        None,
        0,
        1,
        "Probability that a value of a rule mutates in place: 0.01 in version 1 (recalled), 0 in version 2.",
        linear(0, 0.1),
    )
    new_rules: int = between(
        2,
        0,
        1000,
        "Operators drawn for each plan in a generation, in proportion to their rates.",
        linear(0, 10),
    )
    mutation: float | None = rate(None, "Rate of MUTATION: a value becomes any other; 0 in version 1.")
    creep: float | None = rate(None, "Rate of CREEP: an end of an interval moves a step; 0 in version 1.")
    specialize: float = rate(1.0, "Rate of SPECIALIZE: narrower rules after good episodes.")
    generalize: float | None = rate(
        None, "Rate of GENERALIZE: wider rules after good episodes; 0 in version 1."
    )
    cover: float = rate(1.0, "Rate of COVER: rules that matched in part come to match.")
    avoid: float = rate(1.0, "Rate of AVOID: another action after bad episodes.")
    merge: float | None = rate(
        None, "Rate of MERGE: one rule in place of two similar strong ones; 0 in version 1."
    )
    delete: bool = setting(True, "Whether DELETE removes rules that are idle, weak or contained in others.")
    spec_threshold: float = between(
        1.0, 0, 1000, "SPECIALIZE takes rules whose strength is below this share of the payoff."
    )
    spec_level: float | None = between(
        None,
        0,
        1,
        "SPECIALIZE takes rules whose every condition covers at least this share of its range: all of it in "
        "version 1, 0.5 in version 2.",
    )
    general_level: float = between(
        0.1, 0, 2, "GENERALIZE makes conditions cover at least this share of half their range."
    )
    merge_overlap: float = between(0.75, 0, 1, "MERGE takes rules whose conditions overlap by this share.")
    merge_strength: float = between(1.0, 0, 100, "MERGE takes rules with this many times the mean strength.")
    delete_age: int = between(5, 0, 1_000_000, "Generations before a rule can be deleted.")
    delete_share: float = between(
        0.05, 0, 1, "DELETE leaves plans alone that have less than this share of the most rules."
    )
    delete_activity: float = between(0.1, 0, 1, "DELETE removes rules that are less active than this.")
    delete_strength: float = between(
        0.1,
        0,
        1,
        "DELETE removes rules with less than this share of the greatest strength in their plan (published: "
        "with less than 0.1, where payoffs reach 1).",
    )
    activity_gain: float = above(
        0.5, 0, 1, "In a generation with activity, a rule's activity moves this share of the way to 1."
    )
    activity_decay: float = between(
        0.8, 0, 1, "In a generation without activity, a rule's activity is multiplied by this."
    )
    granularity: int = between(
        20,
        2,
        10_000,
        "The fewest steps that the range of a feature is cut into, where it has more values (published "
        "sensors have 9 to 36).",
    )
    trace: int = between(
        20, 1, 10_000, "The most steps of an episode that operators look at, spread evenly (our choice)."
    )

    def filled(self) -> SAMUELParameters:
        """Return the parameters with the defaults of the version filled in."""
        defaults = {name: values[self.version - 1] for name, values in BY_VERSION.items()}
        unset = {name: value for name, value in defaults.items() if getattr(self, name) is None}
        return self.model_copy(update=unset)
