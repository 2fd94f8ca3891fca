"""Writes docs/gallery.md: policies for Gymnasium's environments, from the studies in results/.

    python docs/gallery.py

Each environment has a table with the scores of all trials, and one policy in words and as a picture, pruned
unless its study does not prune. That policy has the fewest rules among the trials within 1 % of the best
score on the validation seeds. The test seeds, on which scores are given, have no part in the choice. Rulesets
go to results/gallery as JSON.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ifthen import EnvTask, RuleSet, TabularTask, evaluate, prune
from ifthen.digits import NOTHING, in_units, mean_and_sd
from ifthen.explanation.pictures.slices import slice_figure
from ifthen.exports.data import to_json
from ifthen.figure_style import BLUE, MEDIUM, ORANGE, SMALL, write_png
from ifthen.simulate.table_simulator import optimal_performance, policy_table
from ifthen.store import write_text
from ifthen.study.read_results import read_results
from ifthen.study.study_plan import Trial
from ifthen.study.study_results import Results
from ifthen.tasks.solve import value_iteration

ROOT = Path(__file__).parents[1]
RULESETS, IMAGES, PAGE = ROOT / "results" / "gallery", ROOT / "docs" / "images", ROOT / "docs" / "gallery.md"
FRONTS = ROOT / "results" / "fronts"
TESTS = (0, 1, 2, 3, 4, 6, 8, 12, 18)
"""The numbers of tests in tables of fronts."""
NEAR, EPISODES, GAMES, LONG = 0.01, 100, 20_000, 20
STUDIES = {
    "cart-pole": "Keep a pole upright on a cart, for 500 steps at most. Return: steps.",
    "mountain-car": "Rock a weak car out of a valley. Return: minus the steps it takes, 200 at most.",
    "acrobot": "Swing a two-link arm up by its middle joint. Return: minus the steps, 500 at most.",
    "pplx-lunar": """Land between two flags. Return: Gymnasium's shaped reward; 200 counts as solved. Needs
the [extra](ecosystem.md) `box2d`. [PPL-X](pplx.md) learns it in 3 million steps. It shortens its lists
itself: they are not pruned. Rules compare sums of two features, which it finds, too.""",
    "blackjack": "Stick or hit. Return: the mean win per game.",
    "taxi": "Fetch a passenger and bring them to their destination.",
    "cliff-walking": "Walk along a cliff without falling.",
}
HEAD = """# Gallery

Policies that `ifthen` has learnt for Gymnasium's environments. Each table has all ten trials of a system,
not the best one. Below it is one policy, after pruning unless the section says otherwise. The study of each
section is a TOML file with all settings that are not defaults.

Scores are mean returns over 100 test seeds, given as mean ± standard deviation over trials. Nothing was
learnt or selected on these seeds, and `ifthen evaluate` plays the same ones. Blackjack, which is mostly
luck, has 20,000. A range is that of the trials, from the worst to the best. `python docs/gallery.py` makes
this page and the rulesets in [`results/gallery`](../results/gallery) from the results of the studies.

"""


SLICE = """The picture is a slice: two features are drawn, and the others have the values above it. Rules that
decide elsewhere only are not in it.

"""
"""What stands below the picture of a policy of more than two features."""


class Shown(NamedTuple):
    """The policy of a section."""

    trial: Trial
    ruleset: RuleSet
    said: str
    """Its size and score, in sentences."""


def main() -> None:
    """Write the page, the rulesets and the pictures."""
    RULESETS.mkdir(parents=True, exist_ok=True)
    parts = [section(name, about) for name, about in STUDIES.items() if (ROOT / "results" / name).exists()]
    write_text(PAGE, HEAD + "\n".join(parts))


def section(name: str, about: str) -> str:
    """Return one study's part of the page."""
    results = read_results(ROOT / "results" / name)
    ((title, task),) = results.plan.tasks_by_name().items()
    assert isinstance(task, EnvTask | TabularTask)
    shown = env_policy(results, task) if isinstance(task, EnvTask) else table_policy(results, task)
    write_text(RULESETS / f"{title}.json", to_json(shown.ruleset, task))
    print(f"{title}: {shown.said}", flush=True)
    picture = ""
    if isinstance(task, EnvTask):
        write_png(IMAGES / f"gallery-{name}.png", slice_figure(shown.ruleset, task, features=2))
        picture = f'<img src="images/gallery-{name}.png" width="560" alt="The policy shown, in {title}">\n\n'
        picture += SLICE if len(task.features) > 2 else ""
    rules = "\n".join(f"{r + 1}. {shown.ruleset.rule_in_words(r)}" for r in range(len(shown.ruleset)))
    if len(shown.ruleset) > LONG:
        rules = f"<details><summary>{len(shown.ruleset)} rules</summary>\n\n{rules}\n\n</details>"
    form = "a decision list" if isinstance(task, TabularTask) else "pruned"
    form = "not pruned" if results.plan.prune is False else form
    table = env_table(results, task) if isinstance(task, EnvTask) else optimal_table(results, task)
    return (
        f"## {title}\n{about}\n\n{table}\n\n"
        f"**{shown.trial.system}, seed {shown.trial.seed}, {form}.** {shown.said}\n\n{rules}\n\n{picture}"
        f"{front_part(title)}"
        f"```sh\nifthen study run studies/{name}.toml --out runs/{name}\n"
        f"ifthen study pack runs/{name} --out results/{name}\n"
        f"ifthen evaluate results/gallery/{title}.json\n```\n"
    )


def front_part(title: str) -> str:
    """Return what fewer tests cost, over all trials of PPL-X; "" where no fronts are kept."""
    path = FRONTS / f"{title}.json"
    if not path.exists():
        return ""
    data = json.loads(path.read_text(encoding="utf-8"))
    trials, name = data["trials"], f"front-{title.split('-')[0].lower()}.png"
    write_png(IMAGES / name, front_figure(data))
    lines = ["| tests, at most | return | range | rules |", "|--:|--:|--:|--:|"]
    for most in TESTS:
        few = [[own for own in trial["lists"] if own["tests"] <= most] for trial in trials]
        taken = [max(lists, key=lambda own: own["score"]) for lists in few if lists]
        if len(taken) == len(trials):
            got, rules = ([float(own[key]) for own in taken] for key in ("return", "rules"))
            lines.append(f"| {most} | {spread(got)} | {reach(got)} | {size(rules)} |")
    table = "\n".join(lines)
    return (
        f"**The front: what fewer tests cost.** PPL-X, {len(trials)} seeds. Of each seed, the list with the "
        f"best score in training among those with at most this many tests; returns are of "
        f"{data['episodes']:,} test seeds.\n\n{table}\n\n"
        f'<img src="images/{name}" width="560" alt="Returns against tests, in {title}">\n\n'
        f"```sh\nifthen study run studies/{data['study']}.toml --out runs/{data['study']}\n"
        f"python benchmarks/fronts_of_study.py runs/{data['study']} --episodes {data['episodes']} "
        f"--out results/fronts\n```\n\n"
    )


def front_figure(data: dict[str, Any]) -> Figure:
    """Draw the returns of every trial's lists against their tests, without the best single action."""
    figure = Figure(figsize=(5.6, 3.2))
    axes = figure.add_subplot()
    for trial in data["trials"]:
        best: list[Any] = []
        for own in trial["lists"]:
            if own["tests"] and (not best or own["score"] > best[-1]["score"]):
                best.append(own)
        axes.step(
            [own["tests"] for own in best],
            [own["return"] for own in best],
            where="post",
            color=BLUE,
            alpha=0.35,
            linewidth=1.1,
        )
        handed = next(own for own in trial["lists"] if own["handed_out"])
        axes.plot(handed["tests"], handed["return"], "o", color=ORANGE, markersize=4.5, alpha=0.85)
    axes.plot([], [], color=BLUE, label="best of at most so many tests, by seed")
    axes.plot([], [], "o", color=ORANGE, markersize=4.5, label="handed out")
    axes.set_xlabel("tests")
    axes.set_ylabel(f"return on {data['episodes']:,} test seeds")
    axes.set_title(f"{data['task']}: fronts of {len(data['trials'])} seeds", loc="left", fontsize=MEDIUM)
    axes.legend(frameon=False, fontsize=SMALL, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


def env_policy(results: Results, task: EnvTask) -> Shown:
    """Return the policy to show of an environment, chosen without the test seeds."""
    system = results.plan.systems[0].name
    own = results.finals.filter(polars.col("system") == system)
    if results.plan.prune is not False:
        own = own.drop_nulls("pruned_rules")
    best = float(own["unseen_performance"].to_numpy().max())
    near = own.filter(polars.col("unseen_performance") >= best - NEAR * abs(best))
    shortest = "rules" if results.plan.prune is False else "pruned_rules"
    row = near.sort(shortest, -polars.col("unseen_performance")).row(0, named=True)
    chosen = Trial(system, task.name, row["seed"])
    assert results.ruleset is not None
    pruned = results.ruleset(chosen)
    if results.plan.prune is not False:
        pruned = prune(pruned, task).ruleset
    got = evaluate(pruned, task, seeds=task.test_seeds(episodes_of(task)), threads=2)
    said = f"{len(pruned)} rules. Mean return {in_units(got.performance)} over {got.episodes:,} test seeds"
    worst = f"; the worst episode has {in_units(got.least)}" if got.episodes == EPISODES else ""
    return Shown(chosen, pruned, f"{said}{worst}.")


def episodes_of(task: EnvTask) -> int:
    """Return how many test seeds make a fair score: a game of Blackjack is mostly luck."""
    return GAMES if task.environment == "Blackjack-v1" else EPISODES


def env_table(results: Results, task: EnvTask) -> str:
    """Return the table of an environment: test scores and sizes over all trials."""
    names = ["system", "trials", "test score", "its range", "rules"]
    pruned = results.plan.prune is not False
    names += ["rules, pruned", "score, pruned", "range, pruned"] if pruned else []
    lines, gaps = ["| " + " | ".join(names) + " |", "|---" + "|--:" * (len(names) - 1) + "|"], list[str]()
    for system in (each.name for each in results.plan.systems):
        got, fewer = (results.values(system, task.name, name) for name in ("unseen_score", "pruned_score"))
        rules, left = (results.values(system, task.name, name) for name in ("rules", "pruned_rules"))
        if episodes_of(task) == GAMES:
            got, fewer = many_games(results, system, task), []
        answered = [score for score in got if score > task.floor]
        cells = [system, str(len(got)), spread(answered), reach(answered), size(rules)]
        cells += [reach(left), spread(fewer), reach(fewer)] if pruned else []
        lines.append("| " + " | ".join(cells) + " |")
        if failed := len(got) - len(answered):
            said = f"{failed} of the {len(got)} trials of {system}"
            gaps.append(f"\nNot in the first score: {said}, with a state without a rule before pruning.")
    return "\n".join([*lines, *gaps])


def many_games(results: Results, system: str, task: EnvTask) -> list[float]:
    """Return the scores of all trials over many test seeds."""
    assert results.ruleset is not None
    rulesets = [results.ruleset(trial) for trial in results.trials(system, task.name)]
    return [evaluate(rules, task, seeds=task.test_seeds(GAMES), threads=2).performance for rules in rulesets]


def table_policy(results: Results, task: TabularTask) -> Shown:
    """Return the policy to show of a task with a table: the best by exact value, as a decision list."""
    rows: list[tuple[float, Trial]] = []
    for system in (each.name for each in results.plan.systems):
        trials, worth = (
            results.trials(system, task.name),
            results.values(system, task.name, "exact_performance"),
        )
        rows += list(zip(worth, trials, strict=True))
    _, chosen = max(rows, key=lambda row: row[0])
    assert results.ruleset is not None
    listed = prune(results.ruleset(chosen), task, to="list", effort="normal").ruleset
    share = optimal_share(listed, task)
    exact = evaluate(listed, task, "exact")
    said = f"{len(listed)} rules. The action is optimal in {share:.1%} of states"
    value = f"Exact value {mean_and_sd(exact.performance)}; the optimum is {mean_and_sd(exact.optimum)}."
    return Shown(chosen, listed, f"{said}. {value}")


def optimal_share(ruleset: RuleSet, task: TabularTask) -> float:
    """Return the share of decision states in which the action is an optimal one."""
    values = value_iteration(task).action_values[task.decision_states]
    table = policy_table(ruleset, task)
    taken = values[np.arange(len(table)), np.maximum(table, 0)]
    return float(((table >= 0) & (taken >= values.max(axis=1) - 1e-9)).mean())


def optimal_table(results: Results, task: TabularTask) -> str:
    """Return the table of a task with states: optimal actions, exact values and sizes over all trials."""
    lines = [
        "| system | trials | share of optimal actions | its range | exact value | optimum | rules |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    assert results.ruleset is not None
    optimum = optimal_performance(task, "exact")
    for system in (each.name for each in results.plan.systems):
        shares = [optimal_share(results.ruleset(trial), task) for trial in results.trials(system, task.name)]
        values, rules = (results.values(system, task.name, name) for name in ("exact_performance", "rules"))
        cells: list[Any] = [system, len(shares), spread(shares), reach(shares), spread(values)]
        lines.append("| " + " | ".join(map(str, [*cells, mean_and_sd(optimum), spread(rules)])) + " |")
    return "\n".join(lines)


def spread(values: list[float]) -> str:
    """Return mean ± standard deviation."""
    if not values:
        return NOTHING
    return mean_and_sd(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None)


def size(rules: list[float]) -> str:
    """Return how many rules there are: a mean, with its standard deviation where numbers differ."""
    return f"{np.mean(rules):,.0f}" + (f" ± {np.std(rules, ddof=1):,.0f}" if len(set(rules)) > 1 else "")


def reach(values: list[float]) -> str:
    """Return the smallest and the largest value."""
    return f"{in_units(min(values))} to {in_units(max(values))}" if values else NOTHING


if __name__ == "__main__":
    main()
