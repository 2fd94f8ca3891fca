"""Distillation by PPL-X beside VIPER's trees, from the same teacher, with the same steps.

    python benchmarks/viper.py                                    # three environments, two seeds
    python benchmarks/viper.py LunarLander-v3 --steps 200000 --seeds 1
    python benchmarks/viper.py --seeds 0                          # the tables of what is there

VIPER (Bastani, Pu and Solar-Lezama 2018) grows one decision tree of each size: states are gathered where the
trees go (DAgger), drawn again in proportion to what the worst action costs there, and the best tree of all
rounds is kept. It gets the steps for every size, and PPL-X as many in all for its whole front; the episodes
that choose VIPER's best tree are not counted. The teacher is a network of action values. Every policy is kept
in results/viper at once, so that a run that was stopped goes on where it was. It needs scikit-learn.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rows import Rows

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
RESULTS = Path(__file__).parent.parent / "results" / "viper"
KEYS = "environment", "steps", "seed", "method", "size"
MEASURES = "rules", "tests", "score", "same", "kept", "teacher"
ROUNDS, DRAWN, TOGETHER = 20, 20_000, 8
"""VIPER's rounds, the states that a tree is grown on, and the episodes that are played side by side."""
TESTS, CHOSEN_ON, SCREENED_ON, FINALISTS = 100, 80, 20, 3
"""Test seeds; seeds on which the best of VIPER's trees is chosen, first few, then all for the best three."""


@cache
def task_of(name: str) -> Any:
    """Return the task of a name."""
    return ifthen.task_by_name(name)


@cache
def network_teacher(name: str) -> tuple[Teacher, float]:
    """Return a network of action values that PPL-X has learnt, as a teacher, and its mean return."""
    task = task_of(name)
    system = ifthen.PPLX(task, seed=0, threads=1, steps=TEACHER_STEPS).learn(epochs=TEACHER_EPOCHS)
    population = system.now.population
    teacher = Teacher(
        "a network",
        lambda points: action_values(population.nets[-1], population.scaling, points, task.n_actions),
        task.n_actions,
        True,
    )
    return teacher, measured(task, teacher, teacher.actions)[0]


def measured(task: ifthen.EnvTask, teacher: Teacher, choose: Choose) -> tuple[float, Fidelity]:
    """Return the mean return of a policy on test seeds, and its fidelity on the states that it visits."""
    episodes = environment_simulator(task).record(choose, task.test_seeds(TESTS))
    points = np.vstack([episode.points for episode in episodes])
    q, actions = teacher.values(points), choose(points)
    regret = q.max(axis=1) - q[np.arange(len(actions)), actions]
    agreement = float((actions == q.argmax(axis=1)).mean())
    score = float(np.mean([episode.rewards.sum() for episode in episodes]))
    return score, Fidelity(agreement, float(1 - regret.sum() / np.ptp(q, axis=1).sum()))


def tree_actions(tree: Any, points: Floats) -> NDArray[np.int64]:
    """Return what a tree of scikit-learn predicts, without its checks, which take most of the time."""
    shares = tree.tree_.predict(points.astype(np.float32)).reshape(len(points), -1)
    actions: NDArray[np.int64] = tree.classes_[shares.argmax(axis=1)]
    return actions


def viper(task: ifthen.EnvTask, teacher: Teacher, leaves: int, steps: int, seed: int) -> Any:
    """Return the best of VIPER's trees with at most this many leaves."""
    trees: Any = importlib.import_module("sklearn.tree")
    simulator, draws = environment_simulator(task), np.random.default_rng(seed)
    pool = task.pool[:-CHOSEN_ON]
    states, n_steps, scored = [], 0, list[tuple[float, Any]]()
    choose: Choose = teacher.actions
    for i in range(ROUNDS):
        while n_steps < steps * (i + 1) / ROUNDS:
            for episode in simulator.record(choose, pool[draws.integers(len(pool), size=TOGETHER)]):
                states.append(episode.points)
                n_steps += len(episode.actions)
        points = np.vstack(states)
        q = teacher.values(points)
        weights = np.ptp(q, axis=1)
        sample = draws.choice(len(points), min(DRAWN, len(points)), p=weights / weights.sum())
        tree = trees.DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=seed)
        tree.fit(points[sample], q[sample].argmax(axis=1))
        choose = partial(tree_actions, tree)
        evaluation = simulator.play_policy(choose, task.pool[-SCREENED_ON:])
        scored.append((float(evaluation.returns.mean()), tree))
    best = sorted(scored, key=lambda pair: -pair[0])[:FINALISTS]
    final = task.pool[-CHOSEN_ON:]
    returns = [simulator.play_policy(partial(tree_actions, tree), final).returns.mean() for _, tree in best]
    return best[int(np.argmax(returns))][1]


def pplx(
    task: ifthen.EnvTask, teacher: Teacher, steps: int, seed: int, terms: bool
) -> Iterator[tuple[str, int, Any]]:
    """Give the lists of PPL-X, as method, size and list: after imitation, and after tuning.

    All sizes come from one training, which gets the steps that VIPER takes for its trees together.
    """
    plan = steps * len(SIZES)
    system = ifthen.PPLX(task, teacher=teacher, seed=seed, threads=1, steps=plan, terms=terms)
    learner: Any = system.learner
    methods = methods_of_pplx(terms)
    for method, epochs in zip(methods, (learner.imitation, learner.epochs - learner.imitation), strict=True):
        front = system.learn(epochs=epochs).front
        for size in SIZES:
            yield method, size, front.at(rules=size).ruleset


def methods_of_pplx(terms: bool) -> list[str]:
    """Return what the lists of PPL-X are called."""
    return [method + (", terms" if terms else "") for method in ("imitation", "PPL-X")]


def actions_of(ruleset: ifthen.RuleSet, task: ifthen.EnvTask, points: Floats) -> NDArray[np.int64]:
    """Return the actions of rules at points `(n, features)`."""
    return ruleset.best_actions(np.clip(points, *task.ranges))


def row(key: dict[str, Any], rules: int, tests: int, choose: Choose) -> dict[str, Any]:
    """Return what a policy gets, as a row."""
    teacher, score = network_teacher(key["environment"])
    mean_return, fidelity = measured(task_of(key["environment"]), teacher, choose)
    return {
        **key,
        "rules": rules,
        "tests": tests,
        "score": f"{mean_return:.6g}",
        "same": f"{fidelity.same:.4f}",
        "kept": f"{fidelity.kept:.4f}",
        "teacher": f"{score:.6g}",
    }


def train(stored: Rows, name: str, steps: int, seed: int) -> None:
    """Keep what all methods get with one seed."""
    task = task_of(name)
    for size in SIZES:
        key = dict(zip(KEYS, (name, steps, seed, "VIPER", size), strict=True))
        if stored.key(key) not in stored.by_key:
            tree = viper(task, network_teacher(name)[0], size, steps, seed)
            leaves = tree.get_n_leaves()
            stored.keep(row(key, leaves, leaves - 1, partial(tree_actions, tree)))
    for terms in (False, True):
        shared = {"environment": name, "steps": steps, "seed": seed}
        if all(
            len(stored.of(**shared, method=method_name)) == len(SIZES)
            for method_name in methods_of_pplx(terms)
        ):
            continue
        for method, size, rules in pplx(task, network_teacher(name)[0], steps, seed, terms):
            row_key = {**shared, "method": method, "size": size}
            if stored.key(row_key) not in stored.by_key:
                stored.keep(row(row_key, len(rules), rules.tests, partial(actions_of, rules, task)))


def table(stored: Rows, name: str, steps: int) -> str:
    """Return means over seeds as a table: return, share of the teacher's actions, share of the cost kept."""
    rows = stored.of(environment=name, steps=steps)
    if not rows:
        return f"{name}: nothing yet"
    methods, seeds = list(dict.fromkeys(row["method"] for row in rows)), {row["seed"] for row in rows}
    teacher = float(rows[0]["teacher"])
    lines = [f"{name}, {steps:,} steps, {len(seeds)} seeds, teacher {teacher:.1f}"]
    lines += ["| size | " + " | ".join(methods) + " |", "|--:|" + "--:|" * len(methods)]
    for size in SIZES:
        cells = []
        for method in methods:
            method_rows = [row for row in rows if (row["method"], row["size"]) == (method, str(size))]
            means = [
                float(np.mean([float(row[name]) for row in method_rows]))
                for name in ("score", "same", "kept")
            ]
            cells.append("{:.0f} ({:.0%}, {:.0%})".format(*means) if method_rows else "–")
        lines.append(f"| {size} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Do what is missing, and print one table per environment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=list(STEPS))
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    stored = Rows(options.results / "policies.csv", KEYS, MEASURES)
    for name in options.tasks:
        began, steps = time.process_time(), options.steps or STEPS.get(name, 100_000)
        for seed in range(options.seeds):
            train(stored, name, steps, seed)
        print(table(stored, name, steps))
        print(f"{time.process_time() - began:.0f} processor seconds\n", flush=True)


if __name__ == "__main__":
    main()
