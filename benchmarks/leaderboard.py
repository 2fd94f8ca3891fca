"""Writes docs/leaderboard.md: published policies that people can read, replayed beside ours on test seeds.

    python benchmarks/leaderboard.py        a few minutes; LunarLander needs pip install ".[box2d]"

Published policies are functions in benchmarks/published. Each is read as rules (`ifthen.read_ruleset`) and
played; those that multiply features are no rules, and are played as functions. Features have ranges twenty
times as wide as usual, so that no sum is clipped.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ifthen import EnvTask, IfthenWarning, RuleSet, env_task, evaluate, read_ruleset
from ifthen.digits import plural
from ifthen.environments.rebind import fitted
from ifthen.errors import RuleError
from ifthen.runs.distil import evaluation
from ifthen.simulate.evaluate import environment_simulator
from ifthen.simulate.simulator import Evaluation
from ifthen.store import write_text

ROOT = Path(__file__).parents[1]
PUBLISHED, RESULTS, PAGE = (
    ROOT / "benchmarks" / "published",
    ROOT / "results",
    ROOT / "docs" / "leaderboard.md",
)
WIDER = 20.0
HEAD = """# Leaderboard

Published policies that people can read, beside ours. Each published policy is an if/else function in
[`benchmarks/published`](../benchmarks/published), with the rules and numbers of its source. ifthen reads it
[as rules](files.md#trees-and-programs) without running it, and plays it on the same test seeds as ours. A
policy that multiplies features is no list of rules: it is played as a function.

*Tests* are comparisons, as `ruleset.tests` counts them. Returns are means over test seeds with a 95 %
interval. Published scores were measured by their authors, on other seeds and often on earlier versions of the
environment. Nothing was learnt or selected on the test seeds. `python benchmarks/leaderboard.py` makes this
page.
"""


SOURCES = """## Sources
Rules and scores were compared with these sources, except where it says otherwise.

- **Géron 2017**: A. Géron, *Hands-On Machine Learning with Scikit-Learn and TensorFlow*, O'Reilly; in the
  edition of 2019 in chapter 18. The rule was checked in code that cites the book, not in the book.
- **Xu**: J. Xu, *How to Beat the CartPole Game in 5 Lines*, Towards Data Science. Rules and scores were
  checked in a translation. The article is from about 2021; its date could not be checked.
- **Xiao 2019**: Z. Xiao, *Reinforcement Learning: Theory and Python Implementation*, China Machine Press,
  chapter 1; rule and score by the author's notebook in the repository ZhiqingXiao/OpenAIGymSolution.
- **Xiao 2021**: notebooks of the same repository, version 1.0.0 of 2021.
- **Nichol**: A. Nichol (unixpickle), *CartPole Decision Tree*, a gist. It could not be checked: neither the
  numbers in the rule nor its year.
- **Klimov**: the function `heuristic` of `gymnasium.envs.box2d.lunar_lander`, read in the installed
  package.
"""


class Entry(NamedTuple):
    """A published policy."""

    function: str
    by: str
    score: str


class Board(NamedTuple):
    """The policies of one environment."""

    file: str
    episodes: int
    study: str
    entries: tuple[Entry, ...]


BOARDS = {
    "CartPole-v1": Board(
        "cart_pole",
        1_000,
        "pplx-control",
        (
            Entry("angle", "Géron 2017", "41.67 (1,000 episodes, by Xu)"),
            Entry("angular_velocity", "Xu", "about 200"),
            Entry("angle_then_velocity", "Xu", "500"),
            Entry("closed_form", "Xiao 2021", "200 (100,000 episodes of CartPole-v0, which end at 200)"),
            Entry("two_thresholds", "Nichol", "none given"),
        ),
    ),
    "MountainCar-v0": Board(
        "mountain_car",
        1_000,
        "pplx-control",
        (Entry("closed_form", "Xiao 2019", "-105.75 (100,000 episodes)"),),
    ),
    "Acrobot-v1": Board(
        "acrobot", 1_000, "pplx-control", (Entry("closed_form", "Xiao 2021", "-88.36 (10,000 episodes)"),)
    ),
    "LunarLander-v3": Board(
        "lunar_lander",
        100,
        "pplx-lunar",
        (
            Entry("heuristic", "Klimov, in Gymnasium", "none given"),
            Entry("closed_form", "Xiao 2021", "262.56 (1,000 episodes of LunarLander-v2)"),
        ),
    ),
}


def wide_task(name: str) -> EnvTask:
    """Return the task of an environment, with wider ranges for all real features."""
    task = env_task(name)
    features = []
    for feature in task.features:
        reach = WIDER * max(abs(feature.low), abs(feature.high))
        features.append(feature if feature.is_integer else replace(feature, low=-reach, high=reach))
    return env_task(name, features=features)


def played(function: Callable[[Any], int], task: EnvTask, seeds: Any) -> Evaluation:
    """Return how well a function does."""

    def act(points: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.array([int(function(point)) for point in points])

    return evaluation(task, environment_simulator(task).record(act, seeds), seeds)


def score(measured: Evaluation) -> str:
    """Return a mean return and its 95 % interval."""
    low, high = measured.interval or (math.nan, math.nan)
    no_spread = f"{low:.1f}" == f"{high:.1f}"
    return f"{measured.performance:.1f}" + ("" if no_spread else f" ({low:.1f} to {high:.1f})")


def function_of(board: Board, name: str) -> Callable[[Any], int]:
    """Return a published function, from this repository's own file."""
    spec = importlib.util.spec_from_file_location(board.file, PUBLISHED / f"{board.file}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[[Any], int] = getattr(module, name)
    return function


def size_of(rules: RuleSet) -> str:
    """Return how long a list is."""
    return f"{plural(len(rules), 'rule')}, {plural(rules.tests, 'test')}"


def row(entry: Entry, board: Board, task: EnvTask, seeds: Any) -> str:
    """Return the row of a published policy."""
    function_score = score(played(function_of(board, entry.function), task, seeds))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IfthenWarning)  # sums are not clipped here, and rounding shows
            rules = read_ruleset(f"{PUBLISHED / board.file}.py:{entry.function}", task)[0]
    except RuleError as problem:
        print(f"{entry.function}: {problem}")
        size, score_cell = "no rules: it multiplies features", function_score
    else:
        bound_task, bound_rules = fitted(task, rules)
        size, score_cell = size_of(rules), score(evaluate(bound_rules, bound_task, seeds=seeds))
        score_cell += "" if score_cell == function_score else f"; as a function {function_score}"
    source = f"[`{entry.function}`](../benchmarks/published/{board.file}.py)"
    return f"| {source}, {entry.by} | {size} | {entry.score} | {score_cell} |"


def our_rows(name: str, board: Board, seeds: Any) -> list[str]:
    """Return the rows of our policies: that of the gallery, and the one that PPL-X found with seed 0."""
    task, rows = env_task(name), []
    gallery = read_ruleset(RESULTS / "gallery" / f"{name}.json")[0]
    packed = RESULTS / board.study / "rulesets" / "PPL-X" / f"{name}.json.gz"
    with gzip.open(packed, "rt", encoding="utf-8") as lines:
        trials = {record["seed"]: record for record in map(json.loads, lines)}
    trained_rules = RuleSet.from_dict(trials[0].get("pruned") or trials[0]["ruleset"])
    policies = (
        ("ours: [the gallery's](gallery.md)", gallery),
        (f"ours: PPL-X, seed 0 of `results/{board.study}`", trained_rules),
    )
    for label, rules in policies:
        bound_task, bound_rules = fitted(task, rules)
        assert isinstance(bound_task, EnvTask)
        rows.append(
            f"| {label} | {size_of(rules)} | | {score(evaluate(bound_rules, bound_task, seeds=seeds))} |"
        )
    return rows


def section(name: str, board: Board) -> str:
    """Return the section of an environment."""
    task = wide_task(name)
    seeds = task.test_seeds(board.episodes)
    rows = [row(entry, board, task, seeds) for entry in board.entries] + our_rows(name, board, seeds)
    head = (
        f"| policy | size | score as published | return on {board.episodes:,} test seeds |\n|---|---|---|---|"
    )
    return f"## {name}\n" + "\n".join([head, *rows]) + "\n"


def main() -> None:
    """Write the page."""
    sections = []
    for name, board in BOARDS.items():
        print(name)
        sections.append(section(name, board))
    write_text(PAGE, "\n".join([HEAD, *sections, SOURCES]))


if __name__ == "__main__":
    main()
