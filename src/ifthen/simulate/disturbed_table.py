"""A policy on a table while something disturbs it, exactly: expected returns over at most t_max steps.

Policy, table and disturbance together are a Markov chain. Its state is the table's state and what the
disturbance remembers: actions on their way (delay, action_delay), the action of the last reading that arrived
(drop), or the action that is held and for how long (action_repeat). Noise has no memory and makes the choice
of actions random. The signs of a bias stay for an episode: each combination is a chain of its own. What
disturbances do is said in `ifthen.tasks.disturbance`. A late reading and a late action are the same to rules.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.environments.from_table import with_option
from ifthen.errors import TaskError, nearest
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.ruleset import PolicyOrActions, RuleSet
from ifthen.simulate.simulator import Evaluation
from ifthen.simulate.table_simulator import policy_table
from ifthen.tasks.altered import OPTIONS
from ifthen.tasks.disturbance import DISTURBANCES, checked_disturbances
from ifthen.tasks.tabular_task import TabularTask

MOST_STATES = 200_000
"""A chain may have this many states."""
MOST_READINGS = 20_000_000
"""With noise, this many pairs of a state and a reading are looked at."""
MOST_BIASES = 10
"""A bias is worked out for at most this many features."""
MOST_RETURNS = 10_000
"""The distribution of returns is worked out while so many pairs of a state and a return suffice."""
SAME_RETURN = 10
"""Returns that agree in this many decimal places count as the same."""
NEGLIGIBLE = 1e-14
"""Episodes are followed until the share of those that go on is below this."""
MOST_BITS = 62
"""The bits of the number of a chain's state."""


class TooLargeError(TaskError):
    """A disturbance that cannot be worked out exactly, because too much is to be listed."""


class Steps(NamedTuple):
    """What follows n states of a chain, with up to J outcomes each."""

    successors: Ints
    """`(n, J)`: the next state, −1 where the episode ends."""
    chance: Floats
    """`(n, J)`."""
    reward: Floats
    """`(n, J)`."""


class Chain(NamedTuple):
    """A Markov chain whose states are numbers: table state + D · memory."""

    starts: Ints
    """One state for each initial state of the table."""
    step: Callable[[Ints], Steps]
    stuck: Callable[[Ints], bool]
    """Whether one of the states has no rule."""


class DisturbedTable:
    """Measures policies on a table under one disturbance.

    Args:
        task: the table.
        name: a disturbance, "t_max", "options.NAME" for an option of the environment whose table it is, or ""
            for none.
        strength: its strength.
    """

    def __init__(self, task: TabularTask, name: str = "", strength: float = 0.0) -> None:
        self.name, self.strength = name, strength
        if name == "t_max":
            task = task.disturbed(name, strength)
        elif name.startswith(OPTIONS):
            task = with_option(task, name.removeprefix(OPTIONS), strength)
        elif name in DISTURBANCES:
            checked_disturbances({name: strength})
        elif name:
            valid_names = (*DISTURBANCES, "t_max", f"{OPTIONS}NAME")
            raise TaskError(f"there is no disturbance {name!r} of a table.{nearest(name, valid_names)}")
        self.task = task

    def tested(self, policy: PolicyOrActions, episodes: int = 0) -> Evaluation:
        """Return what is expected of a policy; nothing is played.

        Raises:
            TooLargeError: where chain or readings are too many to be listed.
        """
        task, table = self.task, policy_table(policy, self.task)
        ruleset: Any = getattr(policy, "ruleset", policy)
        if self.name in ("delay", "action_delay"):
            results = [_delayed_evaluated(task, table.tobytes(), int(self.strength))]
        else:
            chains = _chains(task, ruleset, table, self.name, self.strength)
            results = [_evaluated(task, chain) for chain in chains]
        if None in results:
            return Evaluation(task.floor, "exact", 0, 0, 0.0, failed=True)
        means, truncated_shares, spreads = zip(
            *(result for result in results if result is not None), strict=True
        )
        returns = chances = None
        if None not in spreads:
            returns, chances = (np.concatenate(columns) for columns in zip(*spreads, strict=True))
            chances = chances / len(means)
        return Evaluation(
            performance=float(np.mean(means)),
            method="exact",
            episodes=0,
            steps=0,
            truncated_share=float(np.mean(truncated_shares)),
            failed=False,
            returns=returns,
            chances=chances,
        )


def _chains(
    task: TabularTask, ruleset: RuleSet, table: NDArray[np.integer], name: str, strength: float
) -> Iterator[Chain]:
    """Yield the chains of a policy under a disturbance, each as likely as the others."""
    choices, n_actions = table.astype(np.int64), task.n_actions
    if name == "noise":
        yield _memoryless_chain(task, _noisy_choices(task, ruleset, strength))
    elif name == "bias":
        for biased in _biased_tables(task, ruleset, strength):
            yield _memoryless_chain(task, _certain_chances(biased, n_actions))
    elif name == "drop":
        yield _dropping_chain(task, choices, strength)
    elif name == "action_repeat":
        yield _holding_chain(task, choices, int(strength))
    else:
        yield _memoryless_chain(task, _certain_chances(choices, n_actions))


def _certain_chances(table: Ints, n_actions: int) -> Floats:
    """Return the chance of every action in every state, `(D, A)`, given the one that is taken; 0 for none."""
    chances = np.zeros((len(table), n_actions))
    acts = np.flatnonzero(table >= 0)
    chances[acts, table[acts]] = 1.0
    return chances


def _noisy_choices(task: TabularTask, ruleset: RuleSet, strength: float) -> Floats:
    """Return the chance of every action in every state, `(D, A)`, if readings are noisy.

    Every reading of the features' ranges has a chance; a reading without a rule takes no action.
    """
    axis_values = [np.arange(int(f.low), int(f.high) + 1) for f in task.features]
    n_readings = math.prod(map(len, axis_values))
    states = task.dynamics.states
    if n_readings * len(states) > MOST_READINGS:
        raise TooLargeError(
            f"there are {n_readings:,} readings, too many to list in each of {len(states):,} states"
        )
    readings = np.stack(np.meshgrid(*axis_values, indexing="ij"), axis=-1).reshape(
        n_readings, len(axis_values)
    )
    actions = np.asarray(ruleset.predict(readings.astype(np.float64)), dtype=np.int64)
    chances = np.ones((len(states), 1))
    for f, feature in enumerate(task.features):
        feature_chances = _reading_chances(
            states[:, f], axis_values[f], strength * (feature.high - feature.low)
        )
        chances = (chances[:, :, None] * feature_chances[:, None, :]).reshape(len(states), -1)
    return chances @ _certain_chances(actions, task.n_actions)


def _reading_chances(values: NDArray[Any], readings: Ints, deviation: float) -> Floats:
    """Return how likely each reading is, `(n, readings)`, of n whole numbers with noise, rounded."""
    from scipy.special import ndtr  # type: ignore[import-untyped]  # SciPy ships no types

    cuts = (readings[1:] - 0.5)[None] - values[:, None]
    below = ndtr(cuts / deviation) if deviation > 0 else (cuts > 0).astype(np.float64)
    chances: Floats = np.diff(below, prepend=0.0, append=1.0, axis=1)
    return chances


def _biased_tables(task: TabularTask, ruleset: RuleSet, strength: float) -> Iterator[Ints]:
    """Yield the action in every state, `(D,)`, for each combination of the signs of a bias."""
    features, states = task.features, task.dynamics.points
    if len(features) > MOST_BIASES:
        raise TooLargeError(f"{len(features)} features have too many combinations of signs")
    lows, highs = (np.array([float(getattr(f, end)) for f in features]) for end in ("low", "high"))
    for signs in itertools.product((1.0, -1.0), repeat=len(features)):
        shifted = np.floor(states + strength * (highs - lows) * signs + 0.5)
        yield np.asarray(ruleset.predict(np.clip(shifted, lows, highs)), dtype=np.int64)


def _outcomes(task: TabularTask, states: Ints, actions: Ints) -> Steps:
    """Return the outcomes of one action in each of n states."""
    model = task.dynamics
    chance = np.broadcast_to(model.probability, (len(states), len(model.probability)))
    return Steps(model.next_state[states, actions].astype(np.int64), chance, model.reward[states, actions])


def _memoryless_chain(task: TabularTask, chances: Floats) -> Chain:
    """Return the chain of a policy that takes actions with these chances, `(D, A)`."""
    model = task.dynamics

    def step(codes: Ints) -> Steps:
        n = len(codes)
        joint = chances[codes][:, :, None] * model.probability
        successors = model.next_state[codes].reshape(n, -1).astype(np.int64)
        return Steps(successors, joint.reshape(n, -1), model.reward[codes].reshape(n, -1))

    def stuck(codes: Ints) -> bool:
        return bool((chances[codes].sum(axis=1) < 1 - 1e-12).any())

    return Chain(model.starts.astype(np.int64), step, stuck)


def _delayed_chain(task: TabularTask, table: Ints, delay: int) -> Chain:
    """Return the chain of a policy whose actions are late: the memory has those on their way, oldest last."""
    size, base = len(table), task.n_actions
    if math.log2(size) + delay * math.log2(base) > MOST_BITS:
        raise TooLargeError(f"{delay} actions of {base} kinds can be on their way in too many ways")
    newest = base ** max(delay - 1, 0)

    def step(codes: Ints) -> Steps:
        state, memory = codes % size, codes // size
        chosen = table[state]
        outcomes = _outcomes(task, state, memory % base if delay else chosen)
        memory = memory // base + chosen * newest if delay else memory
        return outcomes._replace(
            successors=np.where(outcomes.successors >= 0, outcomes.successors + size * memory[:, None], -1)
        )

    starts = task.dynamics.starts.astype(np.int64)
    queue = sum(base**i for i in range(delay))
    return Chain(starts + size * queue * np.maximum(table[starts], 0), step, _no_rule(table))


def _dropping_chain(task: TabularTask, table: Ints, p_lost: float) -> Chain:
    """Return the chain of a policy whose readings get lost: the memory is what the last one made it do."""
    size = len(table)

    def step(codes: Ints) -> Steps:
        state, action = codes % size, codes // size
        successors, chance, reward = _outcomes(task, state, action)
        renewed = np.where(successors >= 0, successors + size * np.maximum(table[successors], 0), -1)
        unchanged = np.where(successors >= 0, successors + size * action[:, None], -1)
        chances = np.concatenate([chance * (1 - p_lost), chance * p_lost], axis=1)
        return Steps(
            np.concatenate([renewed, unchanged], axis=1), chances, np.concatenate([reward, reward], axis=1)
        )

    starts = task.dynamics.starts.astype(np.int64)
    return Chain(starts + size * np.maximum(table[starts], 0), step, _no_rule(table))


def _holding_chain(task: TabularTask, table: Ints, hold_steps: int) -> Chain:
    """Return the chain of a policy that is heard every so many steps: the memory has action and time."""
    size, base = len(table), task.n_actions

    def step(codes: Ints) -> Steps:
        state, memory = codes % size, codes // size
        held_action, elapsed = memory % base, memory // base
        action = np.where(elapsed == 0, table[state], held_action)
        outcomes = _outcomes(task, state, action)
        memory = action + base * ((elapsed + 1) % hold_steps)
        return outcomes._replace(
            successors=np.where(outcomes.successors >= 0, outcomes.successors + size * memory[:, None], -1)
        )

    return Chain(task.dynamics.starts.astype(np.int64), step, _no_rule(table))


def _no_rule(table: Ints) -> Callable[[Ints], bool]:
    """Return what tells whether one of several states has no rule."""
    return lambda codes: bool((table[codes % len(table)] < 0).any())


Spread = tuple[Floats, Floats] | None
"""Returns and their chances; None where they are too many."""


def _evaluated(task: TabularTask, chain: Chain) -> tuple[float, float, Spread] | None:
    """Return mean return, share of episodes that are cut, and spread; None if a state has no rule."""
    codes = _reached(chain, task.t_max)
    if codes is None:
        return None
    successors, chance, reward = chain.step(codes)
    goes_on = (successors >= 0) & (chance > 0)
    # The states of the last step lead to some that are never asked.
    position = np.minimum(np.searchsorted(codes, successors), len(codes) - 1)
    is_known = goes_on & (codes[position] == successors)
    steps = Steps(np.where(is_known, position, -1), chance, reward)
    start_chances = np.bincount(np.searchsorted(codes, chain.starts), minlength=len(codes)) / len(
        chain.starts
    )
    mean, truncated_share = _expected(task, steps, start_chances, (chance * goes_on).sum(axis=1))
    return mean, truncated_share, _spread(task, steps, start_chances)


@lru_cache(maxsize=16)
def _delayed_evaluated(task: TabularTask, table: bytes, delay: int) -> tuple[float, float, Spread] | None:
    """Return the same of a policy whose actions, or readings, are late; remembered, as both are asked for."""
    choices = np.frombuffer(table, dtype=np.int16).astype(np.int64)
    return _evaluated(task, _delayed_chain(task, choices, delay))


def _reached(chain: Chain, t_max: int) -> Ints | None:
    """Return the states of a chain in which a step of an episode is taken; None if one has no rule."""
    reached = frontier = np.unique(chain.starts)
    for _ in range(t_max):
        if chain.stuck(frontier):
            return None
        successors, chance, _ = chain.step(frontier)
        next_codes = np.unique(successors[(successors >= 0) & (chance > 0)])
        frontier = np.setdiff1d(next_codes, reached, assume_unique=True)
        if not len(frontier):
            break
        reached = np.union1d(reached, frontier)
        if len(reached) > MOST_STATES:
            raise TooLargeError(f"with what is remembered there are more than {MOST_STATES:,} states")
    return reached


def _expected(task: TabularTask, steps: Steps, start_chances: Floats, goes_on: Floats) -> tuple[float, float]:
    """Return the mean return over t_max steps, and the share of episodes that are then cut."""
    from scipy.sparse import csc_array  # type: ignore[import-untyped]  # SciPy ships no types

    continues = steps.successors >= 0
    sources = np.broadcast_to(np.arange(len(start_chances))[:, None], steps.successors.shape)[continues]
    transition = csc_array(
        (steps.chance[continues], (steps.successors[continues], sources)), shape=(len(start_chances),) * 2
    )
    rewards = (steps.chance * steps.reward).sum(axis=1)
    total, discount, occupancy, truncated_share = 0.0, 1.0, start_chances, 0.0
    for _ in range(task.t_max):
        total += discount * float(rewards @ occupancy)
        truncated_share = float(goes_on @ occupancy)
        occupancy, discount = transition @ occupancy, discount * task.gamma
        if truncated_share < NEGLIGIBLE:
            break
    return total, truncated_share


def _spread(task: TabularTask, steps: Steps, start_chances: Floats) -> Spread:
    """Return all returns with their chances; None where there are too many."""
    ended: list[tuple[Floats, Floats]] = []
    states = np.flatnonzero(start_chances)
    sums, masses, discount = np.zeros(len(states)), start_chances[states], 1.0
    for t in range(task.t_max):
        successors, branch_chances = steps.successors[states], steps.chance[states] * masses[:, None]
        branch_returns = np.round(sums[:, None] + discount * steps.reward[states], SAME_RETURN)
        is_end = (successors < 0) | (t == task.t_max - 1)
        ended.append(
            _merged(
                branch_returns[is_end & (branch_chances > 0)], branch_chances[is_end & (branch_chances > 0)]
            )
        )
        continues = ~is_end & (branch_chances > 0)
        distinct, return_index = np.unique(branch_returns[continues], return_inverse=True)
        pairs, pair_index = np.unique(
            successors[continues] + len(start_chances) * return_index, return_inverse=True
        )
        if len(pairs) > MOST_RETURNS:
            return None
        states, sums = pairs % len(start_chances), distinct[pairs // len(start_chances)]
        masses, discount = _added(pair_index, branch_chances[continues], len(pairs)), discount * task.gamma
        if masses.sum() < NEGLIGIBLE:
            ended.append((sums, masses))
            break
    returns, chances = (np.concatenate(columns) for columns in zip(*ended, strict=True))
    return _merged(returns, chances)


def _merged(returns: Floats, chances: Floats) -> tuple[Floats, Floats]:
    """Return distinct returns, each with its whole chance."""
    distinct, index = np.unique(returns, return_inverse=True)
    return distinct, _added(index, chances, len(distinct))


def _added(indices: Ints, chances: Floats, size: int) -> Floats:
    """Return the sum of chances at each of `size` places."""
    totals: Floats = np.bincount(indices, chances, minlength=size).astype(np.float64)
    return totals
