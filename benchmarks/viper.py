"""Distillation by PPL-X beside VIPER's trees, from the same teacher, with the same steps.

python benchmarks/viper.py                                    three environments, two seeds
python benchmarks/viper.py LunarLander-v3 --steps 200000 --seeds 1

VIPER (Bastani, Pu and Solar-Lezama 2018) grows one decision tree of each size: states are gathered where the
trees go (DAgger), drawn again in proportion to what the worst action costs there, and the best tree of all
rounds is kept. It gets the steps for every size, PPL-X once for its whole front; choosing the best tree is
not counted. The teacher is a network of action values. It needs scikit-learn.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import ifthen
from ifthen.runs.distil import Fidelity
from ifthen.simulate.evaluate import environment_simulator
from ifthen.systems.pplx.q_network import action_values
from ifthen.systems.pplx.teacher import Teacher

Floats = NDArray[np.float64]
Choose = Callable[[Floats], NDArray[np.int64]]
STEPS = {"CartPole-v1": 100_000, "Acrobot-v1": 100_000, "LunarLander-v3": 200_000}
TEACHER_STEPS, TEACHER_EPOCHS = 300_000, 22
"""The plan of the network that teaches, and its epochs up to where lists begin."""
SIZES = (2, 4, 8, 16)
ROUNDS, DRAWN, TOGETHER = 20, 20_000, 8
"""VIPER's rounds, the states that a tree is grown on, and the episodes that are played side by side."""
TESTS, CHOSEN_ON, SCREENED_ON, FINALISTS = 100, 80, 20, 3
"""Test seeds; seeds on which the best of VIPER's trees is chosen, first few, then all for the best three."""


class Row(NamedTuple):
    """What a policy got on test seeds."""

    method: str
    size: int
    rules: int
    tests: int
    score: float
    fidelity: Fidelity


def network_teacher(task: ifthen.EnvTask) -> Teacher:
    """Return a network of action values that PPL-X has learnt, as a teacher."""
    system = ifthen.PPLX(task, seed=0, threads=1, steps=TEACHER_STEPS).learn(epochs=TEACHER_EPOCHS)
    known = system.now.population
    return Teacher(
        "a network",
        lambda points: action_values(known.nets[-1], known.scaling, points, task.n_actions),
        task.n_actions,
        True,
    )


def measured(task: ifthen.EnvTask, teacher: Teacher, choose: Choose) -> tuple[float, Fidelity]:
    """Return the mean return of a policy on test seeds, and its fidelity on the states that it visits."""
    episodes = environment_simulator(task).record(choose, task.test_seeds(TESTS))
    points = np.vstack([episode.points for episode in episodes])
    q, does = teacher.values(points), choose(points)
    lost = q.max(axis=1) - q[np.arange(len(does)), does]
    same = float((does == q.argmax(axis=1)).mean())
    score = float(np.mean([episode.rewards.sum() for episode in episodes]))
    return score, Fidelity(same, float(1 - lost.sum() / np.ptp(q, axis=1).sum()))


def tree_actions(tree: Any, points: Floats) -> NDArray[np.int64]:
    """Return what a tree of scikit-learn predicts, without its checks, which take most of the time."""
    shares = tree.tree_.predict(points.astype(np.float32)).reshape(len(points), -1)
    found: NDArray[np.int64] = tree.classes_[shares.argmax(axis=1)]
    return found


def viper(task: ifthen.EnvTask, teacher: Teacher, leaves: int, steps: int, seed: int) -> Any:
    """Return the best of VIPER's trees with at most this many leaves."""
    trees: Any = importlib.import_module("sklearn.tree")
    simulator, draws = environment_simulator(task), np.random.default_rng(seed)
    pool = task.pool[:-CHOSEN_ON]
    states, taken, found = [], 0, list[tuple[float, Any]]()
    choose: Choose = teacher.actions
    for i in range(ROUNDS):
        while taken < steps * (i + 1) / ROUNDS:
            for episode in simulator.record(choose, pool[draws.integers(len(pool), size=TOGETHER)]):
                states.append(episode.points)
                taken += len(episode.actions)
        points = np.vstack(states)
        q = teacher.values(points)
        weights = np.ptp(q, axis=1)
        some = draws.choice(len(points), min(DRAWN, len(points)), p=weights / weights.sum())
        tree = trees.DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=seed)
        tree.fit(points[some], q[some].argmax(axis=1))
        choose = partial(tree_actions, tree)
        played = simulator.play_policy(choose, task.pool[-SCREENED_ON:])
        found.append((float(played.returns.mean()), tree))
    best = sorted(found, key=lambda own: -own[0])[:FINALISTS]
    final = task.pool[-CHOSEN_ON:]
    returns = [simulator.play_policy(partial(tree_actions, tree), final).returns.mean() for _, tree in best]
    return best[int(np.argmax(returns))][1]


def pplx(task: ifthen.EnvTask, teacher: Teacher, steps: int, seed: int, terms: bool) -> list[Row]:
    """Return what the lists of PPL-X get, of each size: after imitation, and after tuning."""
    system = ifthen.PPLX(task, teacher=teacher, seed=seed, threads=1, steps=steps, terms=terms)
    learner: Any = system.learner
    kind, rows = ", terms" if terms else "", []
    for method, epochs in (("imitation", learner.imitation), ("PPL-X", learner.epochs - learner.imitation)):
        front = system.learn(epochs=epochs).front
        for size in SIZES:
            point = front.at(rules=size)
            score, own = measured(task, teacher, partial(actions_of, point.ruleset, task))
            rows.append(Row(method + kind, size, point.rules, point.tests, score, own))
    return rows


def actions_of(ruleset: ifthen.RuleSet, task: ifthen.EnvTask, points: Floats) -> NDArray[np.int64]:
    """Return the actions of rules at points `(n, features)`."""
    return ruleset.best_actions(np.clip(points, *task.ranges))


def rows_of(name: str, steps: int, seeds: int) -> tuple[float, list[Row]]:
    """Return the teacher's mean return, and what all methods get with each seed."""
    task: Any = ifthen.task_by_name(name)
    teacher, rows = network_teacher(task), list[Row]()
    score, _ = measured(task, teacher, teacher.actions)
    print(f"{name}: the teacher gets {score:.1f}", flush=True)
    for seed in range(seeds):
        for size in SIZES:
            tree = viper(task, teacher, size, steps, seed)
            got, own = measured(task, teacher, partial(tree_actions, tree))
            rows.append(Row("VIPER", size, tree.get_n_leaves(), tree.get_n_leaves() - 1, got, own))
        for terms in (False, True):
            rows += pplx(task, teacher, steps, seed, terms)
        for row in rows[-len(SIZES) * 5 :]:
            print(f"{name:16} {seed:2} {row}", flush=True)
    return score, rows


def table(name: str, steps: int, teacher: float, rows: list[Row]) -> str:
    """Return means over seeds as a table: return, share of the teacher's actions, share of the cost kept."""
    methods = list(dict.fromkeys(row.method for row in rows))
    lines = [f"{name}, {steps:,} steps, teacher {teacher:.1f}", "| size | " + " | ".join(methods) + " |"]
    lines.append("|--:|" + "--:|" * len(methods))
    for size in SIZES:
        cells = []
        for method in methods:
            own = [row for row in rows if (row.method, row.size) == (method, size)]
            score, same, kept = (
                float(np.mean(part))
                for part in zip(*((r.score, r.fidelity.same, r.fidelity.kept) for r in own), strict=True)
            )
            cells.append(f"{score:.0f} ({same:.0%}, {kept:.0%})")
        lines.append(f"| {size} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print one table per environment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=list(STEPS))
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    for name in given.tasks:
        began, steps = time.perf_counter(), given.steps or STEPS.get(name, 100_000)
        print(table(name, steps, *rows_of(name, steps, given.seeds)))
        print(f"{time.perf_counter() - began:.0f} seconds\n", flush=True)


if __name__ == "__main__":
    main()
