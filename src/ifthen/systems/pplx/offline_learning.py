"""Learning from a log: action values from its steps, lists from the values, and what the lists may be worth.

Nothing is played. Values of actions that a log never takes are guesses, and the best of many guesses is too
good to be true. So each update also makes the actions that were not taken look a little worse (conservative
Q-learning: Kumar, Zhou, Tucker and Levine 2020).

What a list gets cannot be measured, only estimated: by values of the list's own policy, learnt from steps
that nothing was learnt or chosen on (fitted Q evaluation: Le, Voloshin and Yue 2019). Where an episode was
cut, the estimate goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.rules.arrays import Floats
from ifthen.simulate.trajectories import Trajectory
from ifthen.systems.pplx.action_costs import ActionCosts
from ifthen.systems.pplx.bench import MOST_VISITED
from ifthen.systems.pplx.distil_values import SHORT_SIZES, SIZES, drafts_from_trees
from ifthen.systems.pplx.drafts import Draft, actions_at, pack
from ifthen.systems.pplx.env_plan import MOST_NETWORKS
from ifthen.systems.pplx.first_steps import first_networks
from ifthen.systems.pplx.knowledge import Clock, Knowledge
from ifthen.systems.pplx.memory import CUT, Memory, remembered
from ifthen.systems.pplx.q_network import action_values
from ifthen.systems.pplx.q_training import NO_ADVICE, train
from ifthen.systems.pplx.scoring import unplayed
from ifthen.systems.pplx.scratch import single
from ifthen.systems.pplx.value_learning import FIRST_RATE, LAST_RATE, scale_of

CAUTION = 0.1
"""How strongly actions that were not taken are made to look worse: the weight of this in the loss."""
UPDATES = 30_000
"""Each network of action values gets this many updates."""
ESTIMATE_UPDATES = 10_000
"""The network of an estimate gets this many updates."""
FEW_STEPS = 200_000
"""Up to five networks learn together: their number is this one divided by the steps, at least one."""
STAGES = 20
"""The learning rate falls in this many stages."""
ROUNDS = 5
"""Lists are drawn up this many times, with new terms each time; once where terms are not wanted."""


def learn_values(
    costing: ActionCosts, episodes: Sequence[Trajectory], gamma: float, caution: float
) -> Knowledge:
    """Return what is known after networks have learnt action values from steps.

    Args:
        costing: random numbers.
        episodes: the steps.
        gamma: the discount factor.
        caution: how strongly actions that were not taken are made to look worse.
    """
    n_steps = sum(len(episode.actions) for episode in episodes)
    n_networks = int(np.clip(FEW_STEPS // n_steps, 1, MOST_NETWORKS))
    known = without_values(costing, episodes, gamma, n_networks)
    return with_values(costing, known, gamma, UPDATES, NO_ADVICE, caution)


def without_values(
    costing: ActionCosts, episodes: Sequence[Trajectory], gamma: float, n_networks: int = 1
) -> Knowledge:
    """Return what is known of steps before networks learn from them."""
    n_features = costing.n_features
    empty = Memory(np.zeros((0, n_features), np.float32), np.zeros(0, np.int16), np.zeros(0, np.float32))
    memory = remembered(empty, list(episodes))
    n_steps = sum(len(episode.actions) for episode in episodes)
    drafts = [single(action, n_features) for action in range(costing.n_actions)]
    known = Knowledge(
        *memory,
        states=costing.sample(memory.points[memory.moves >= 0], MOST_VISITED),
        scale=np.zeros(0),
        nets=first_networks(costing, n_networks),
        **pack(drafts),
        useful=np.zeros((0, n_features)),
        fitness=np.array(unplayed(drafts)),
        clock=Clock(budget=n_steps, episode_length=n_steps / len(episodes)).array(),
    )
    return known._replace(scale=scale_of(known, gamma))


def with_values(
    costing: ActionCosts,
    known: Knowledge,
    gamma: float,
    n_updates: int,
    advice: NDArray[np.int16],
    caution: float,
) -> Knowledge:
    """Return what is known once networks have learnt from its steps.

    Args:
        costing: random numbers.
        known: what is known.
        gamma: the discount factor.
        n_updates: how many updates each network gets.
        advice: `(rows,)`: the action that follows in each row of the memory; the best one where it is
            empty, see `train`.
        caution: how strongly actions that were not taken are made to look worse.
    """
    nets = known.nets.copy()
    for stage in range(STAGES):
        rate = FIRST_RATE + (LAST_RATE - FIRST_RATE) * stage / STAGES
        replay = known.memory, len(known.moves), known.scaling
        key, updates = costing.key("train", stage), n_updates // STAGES
        train(key, *replay, gamma, rate, 0.0, updates, costing.n_actions, nets[:4], advice, caution)
    nets[-1] = nets[1]  # the average over the updates is steadier
    return known._replace(nets=nets)


def lists_from_values(costing: ActionCosts, known: Knowledge, terms: bool) -> list[Draft]:
    """Return lists of all sizes that cost little at the points of the log by the values, and single rules."""
    drafts = known.drafts
    for _ in range(ROUNDS if terms else 1):
        new_drafts = drafts_from_trees(costing, known, terms, SHORT_SIZES + SIZES)
        used_terms = np.unique(np.vstack([draft.terms for draft in new_drafts]), axis=0)
        drafts, known = [*drafts, *new_drafts], known._replace(useful=used_terms)
    return list({draft.key(): draft for draft in drafts}.values())


def estimated_return(
    costing: ActionCosts, episodes: Sequence[Trajectory], gamma: float, draft: Draft | None
) -> float:
    """Return the estimated mean discounted return from the starts of episodes.

    Args:
        costing: random numbers.
        episodes: the steps that the estimate is learnt from.
        gamma: the discount factor.
        draft: the list; None for what acted in the log.
    """
    known = without_values(costing, episodes, gamma)
    actions = logged_actions(known.moves) if draft is None else list_actions(costing, draft, known.points)
    known = with_values(costing, known, gamma, ESTIMATE_UPDATES, actions, caution=0.0)
    starts = np.flatnonzero(np.append(True, known.moves[:-1] < 0))
    q = action_values(
        known.nets[-1], known.scaling, known.points[starts].astype(np.float64), costing.n_actions
    )
    return float(q[np.arange(len(starts)), actions[starts]].mean() / known.scaling.reward)


def list_actions(costing: ActionCosts, draft: Draft, points: NDArray[Any]) -> NDArray[np.int16]:
    """Return the actions of a list at points `(n, features)`."""
    return actions_at(draft, costing.clipped(points)).astype(np.int16)


def logged_actions(moves: NDArray[np.int16]) -> NDArray[np.int16]:
    """Return the action that was taken in each row of a memory; where an episode was cut, the one before."""
    actions = moves.copy()
    cuts = np.flatnonzero(moves == CUT)
    actions[cuts] = moves[cuts - 1]
    return actions


def share_of_costs(points: Floats, costs: Floats, draft: Draft) -> float:
    """Return the share of the possible cost that a list avoids at points: 1 is none, 0 the worst actions."""
    cost = float(costs[np.arange(len(points)), actions_at(draft, points)].mean())
    worst = float(costs.max(axis=1).mean())
    return 1.0 - cost / worst if worst > 0 else 1.0
