"""Parameters of ZCS, under the names of the literature."""

from __future__ import annotations

from typing import Literal

from ifthen.systems.parameters import Parameters, above, between, linear, logarithmic, setting


class ZCSParameters(Parameters):
    """Parameters of ZCS; the defaults are Wilson's."""

    pop_limit: int = between(
        400, 2, 100_000, "N: rules in the population, which is always full.", logarithmic(100, 3200)
    )
    p_any: float = between(
        0.33, 0, 1, "P#: probability that a new rule leaves a feature open.", linear(0, 0.95)
    )
    s0: float = above(20.0, 0, 1e9, "S0: strength of the first rules.")
    beta: float = above(
        0.2, 0, 1, "β: learning rate, the share of strength that the action set pays.", logarithmic(0.02, 0.8)
    )
    gamma: float = between(0.71, 0, 0.9999, "γ: discount of what the set before is paid.", linear(0.5, 0.99))
    tau: float = between(0.1, 0, 1, "τ: share that matching rules with other actions lose.", linear(0, 0.5))
    chi: float = between(0.5, 0, 1, "χ: probability that two parents are crossed.", linear(0, 1))
    mu: float = between(
        0.002,
        0,
        1,
        "μ: probability that a feature's condition, or the action, mutates.",
        logarithmic(0.0005, 0.1),
    )
    rho: float = between(0.25, 0, 2, "ρ: how often the GA runs; see rho_counts.", logarithmic(0.02, 1))
    rho_counts: Literal["rules", "calls"] = setting(
        "rules", "ρ is the mean number per step of new rules (two per call of the GA), or of calls."
    )
    phi: float = between(0.5, 0, 1000, "φ: share of the mean strength below which a match set is covered.")
    r0_share: float = between(
        0.25,
        0,
        1,
        "A new interval of a real feature reaches at most this share of the range to each side.",
    )
    reward_scale: float | None = above(
        None, 0, 1e12, "Factor of rewards; where not given, one that makes the largest of a table 1000."
    )
    least_reward: float = between(
        0.0,
        -1e12,
        0,
        "A lower bound of all rewards, for environments whose least reward is not known.",
    )
    problems_per_epoch: int = between(50, 1, 1_000_000, "Problems (episodes) that make an epoch.")
