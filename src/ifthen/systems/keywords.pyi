"""The keyword arguments of every system with their types, so that editors complete and check them.

Written by `python -m tests.systems.test_keywords` from `System` and the systems' `Parameters`.
"""

from typing import Literal, TypedDict

from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.gpu import Backend
from ifthen.tasks.task import Noise

class SystemKeywords(TypedDict, total=False):
    seed: int
    threads: int | None
    start: RuleSet | None
    require: str | list[str] | None
    verbose: int
    noise: Noise

class PittsburghKeywords(SystemKeywords, total=False):
    idv_size: int | None
    pop_size: int | None
    tourn_size: int
    p_cross: float
    p_swap: float
    p_mut: float
    p_any: float
    sigma: float
    elites: int
    windows: int
    first_episodes: int | None
    double_every: int
    racing: bool
    fitness: Literal["sampled", "exact"]
    backend: Backend

class AccuracyKeywords(SystemKeywords, total=False):
    ga_per_epoch: int | None
    alpha: float
    beta: float
    beta_epsilon: float
    nu: int
    theta_ga: int
    theta_del: int
    theta_sub: int
    delta: float
    selection: Literal["tournament", "roulette"]
    tau: float
    chi: float
    p_swap: float
    mu: float
    m0: int | None
    m0_share: float
    r0: int | None
    r0_share: float
    specify: bool
    n_specify: int
    p_specify: float
    ga_subsumption: bool
    set_subsumption: bool
    equality: Literal["box", "alleles"]
    epsilon_i: float
    f_i: float
    error_share: float
    fitness_share: float
    gradient: bool
    x0: float
    delta_rls: float
    lambda_rls: float
    rls_limit: float
    eta: float
    gamma: float | None
    p_explore: float
    epsilon: float
    teletransport: bool
    truncation: Literal["end", "bootstrap"]
    niche_error: bool | None

class PPLXKeywords(SystemKeywords, total=False):
    collect: int
    model: Literal["learnt", "given"]
    candidates: int | None
    most_rules: int | None
    knee: float | None
    rules: int | None
    tests: int | None
    steps: int | None
    terms: bool
    given_terms: list[str]
    imitate: bool

class PPLDLKeywords(PittsburghKeywords, total=False):
    otherwise: bool

class PPLSTKeywords(PittsburghKeywords, total=False):
    num_reinf_rollouts: int
    eta: float
    x0: float
    payoff: Literal["return", "paper"]

class XCSFKeywords(AccuracyKeywords, total=False):
    pop_limit: int | None
    epsilon_0: float
    p_hash: float | None
    mutation: Literal["shift", "niche"]
    prediction: Literal["rls", "nlms", "constant"]

class XCSKeywords(AccuracyKeywords, total=False):
    pop_limit: int
    epsilon_0: float | None
    p_hash: float
    mutation: Literal["shift", "niche"] | None
    prediction: Literal["constant"]

class ZCSKeywords(SystemKeywords, total=False):
    pop_limit: int
    p_any: float
    s0: float
    beta: float
    gamma: float
    tau: float
    chi: float
    mu: float
    rho: float
    rho_counts: Literal["rules", "calls"]
    phi: float
    r0_share: float
    reward_scale: float | None
    least_reward: float
    problems_per_epoch: int

class SAMUELKeywords(SystemKeywords, total=False):
    version: Literal[1, 2]
    pop_size: int
    most_rules: int | None
    first_mean: float
    bid_power: float | None
    learning_rate: float
    caution: float | None
    payoff: Literal["sum", "return"]
    pre_episodes: int
    post_episodes: int
    cluster_episodes: int
    fitness_episodes: int
    retest_every: int
    retest_share: float
    retest_episodes: int
    baseline_rate: float
    baseline_deviations: float
    p_cross: float
    p_mut: float | None
    new_rules: int
    mutation: float | None
    creep: float | None
    specialize: float
    generalize: float | None
    cover: float
    avoid: float
    merge: float | None
    delete: bool
    spec_threshold: float
    spec_level: float | None
    general_level: float
    merge_overlap: float
    merge_strength: float
    delete_age: int
    delete_share: float
    delete_activity: float
    delete_strength: float
    activity_gain: float
    activity_decay: float
    granularity: int
    trace: int
