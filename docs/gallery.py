"""Writes docs/gallery.md: what was learnt in Gymnasium's environments, from the studies kept in results/.

    python docs/gallery.py

For every environment: the scores of all seeds, and one policy, pruned, in words and as a picture. That policy
is the trial with the fewest rules after pruning among those within 1 % of the best on the validation seeds;
the unseen seeds on which scores are given have no part in the choice. Rulesets go to results/gallery as JSON.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars

from ifthen import EnvTask, RuleSet, TabularTask, evaluate, prune_by_playing
from ifthen.digits import in_units
from ifthen.explain.export.data import to_json
from ifthen.explain.fewer.simplify import as_decision_list
from ifthen.explain.pictures.env_slices import env_policy_figure
from ifthen.explain.words import rule_for_reading
from ifthen.figure_style import write_png
from ifthen.rollout.evaluate import policy_table
from ifthen.store import write_text
from ifthen.study.plan import Trial
from ifthen.study.read import read_results
from ifthen.study.results import Results
from ifthen.tasks.solve import value_iteration

ROOT = Path(__file__).parents[1]
RULESETS, IMAGES, PAGE = ROOT / "results" / "gallery", ROOT / "docs" / "images", ROOT / "docs" / "gallery.md"
NEAR, EPISODES, GAMES, LONG = 0.01, 100, 20_000, 20
STUDIES = {
    "cart-pole": "Keep a pole upright on a cart, for 500 steps at most. Return: steps.",
    "mountain-car": "Rock a weak car out of a valley. Return: minus the steps it takes, 200 at most.",
    "acrobot": "Swing a two-link arm up by its middle joint. Return: minus the steps, 500 at most.",
    "lunar-lander": "Land between two flags. Return: Gymnasium's shaped reward; 200 counts as solved. Every "
    "second rule of a list is the mirror image of the one before it, and populations come from a "
    "[rehearsal](guide.md#rehearsal-on-a-stand-in) of 600 generations on a compiled stand-in: epochs, steps "
    "and scores are of the environment itself. Lists were not pruned, which takes long here: "
    "`ifthen prune results/gallery/LunarLander-v3.json`. Needs "
    '`pip install "ifthen[box2d]"`.',
    "blackjack": "Stick or hit. Return: the mean win per game.",
    "taxi": "Fetch a passenger and bring them to their destination.",
    "cliff-walking": "Walk along a cliff without falling.",
}
HEAD = """# Gallery

What `ifthen` has learnt in Gymnasium's environments, over ten seeds each: not the best run but all. Every
section names its study, a TOML file with all that differs from the defaults, and shows one of its policies
after pruning. Scores are mean returns over 100 reset seeds that nothing was learnt or selected on
(`ifthen evaluate` plays the same ones; Blackjack, mostly luck, has 20,000). The page and the rulesets in
[`results/gallery`](../results/gallery) are made from the studies' results by `python docs/gallery.py`.

"""


class Shown(NamedTuple):
    """The policy of a section."""

    trial: Trial
    ruleset: RuleSet
    said: str
    """What is known of how it does."""


def main() -> None:
    """Write the page, the rulesets and the pictures."""
    RULESETS.mkdir(parents=True, exist_ok=True)
    parts = [section(name, about) for name, about in STUDIES.items() if (ROOT / "results" / name).exists()]
    write_text(PAGE, HEAD + "\n".join(parts))


def section(name: str, about: str) -> str:
    """Return one study's part of the page."""
    results = read_results(ROOT / "results" / name)
    ((title, task),) = results.plan.tasks_by_name().items()
    shown = env_policy(results, task) if isinstance(task, EnvTask) else table_policy(results, task)
    write_text(RULESETS / f"{title}.json", to_json(shown.ruleset, task))
    print(f"{title}: {len(shown.ruleset)} rules, {shown.said}", flush=True)
    picture = ""
    if isinstance(task, EnvTask):
        write_png(IMAGES / f"gallery-{name}.png", env_policy_figure(shown.ruleset, task))
        picture = f'<img src="images/gallery-{name}.png" width="560" alt="The policy shown, in {title}">\n\n'
    rules = "\n".join(f"{r + 1}. {rule_for_reading(shown.ruleset, r)}" for r in range(len(shown.ruleset)))
    if len(shown.ruleset) > LONG:
        rules = f"<details><summary>{len(shown.ruleset)} rules</summary>\n\n{rules}\n\n</details>"
    state = "not pruned" if results.plan.prune is False else "pruned"
    table = env_table(results, task) if isinstance(task, EnvTask) else optimal_table(results, task)
    return (
        f"## {title}\n{about}\n\n{table}\n\n"
        f"{shown.trial.system}, seed {shown.trial.seed}, {state}: {shown.said}.\n\n{rules}\n\n{picture}"
        f"```sh\nifthen study run studies/{name}.toml --out runs/{name}\n"
        f"ifthen study pack runs/{name} --out results/{name}\n"
        f"ifthen evaluate results/gallery/{title}.json\n```\n"
    )


def env_policy(results: Results, task: EnvTask) -> Shown:
    """Return the policy to show of an environment, chosen without looking at the unseen seeds."""
    system = results.plan.systems[0].name
    own = results.finals.filter(polars.col("system") == system)
    if results.plan.prune is not False:
        own = own.drop_nulls("pruned_rules")
    best = float(own["unseen_performance"].to_numpy().max())
    near = own.filter(polars.col("unseen_performance") >= best - NEAR * abs(best))
    row = near.sort("pruned_rules", -polars.col("unseen_performance")).row(0, named=True)
    chosen = Trial(system, task.name, row["seed"])
    assert results.ruleset is not None
    pruned = results.ruleset(chosen)
    if results.plan.prune is not False:
        pruned = prune_by_playing(pruned, task).ruleset
    got = evaluate(pruned, task, seeds=task.unseen(episodes_of(task)), threads=2)
    said = f"{in_units(got.performance)} over {got.episodes:,} unseen episodes"
    worst = f", the worst {in_units(got.least)}" if got.episodes == EPISODES else ""
    return Shown(chosen, pruned, f"{len(pruned)} rules, {said}{worst}")


def episodes_of(task: EnvTask) -> int:
    """Return how many unseen episodes make a fair score: a game of Blackjack is mostly luck."""
    return GAMES if task.environment == "Blackjack-v1" else EPISODES


def env_table(results: Results, task: EnvTask) -> str:
    """Return what every system got, over all seeds."""
    lines = [
        "| system | seeds | score, unseen | from, to | rules | pruned to | score, pruned | from, to |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for system in (each.name for each in results.plan.systems):
        got, fewer = (results.values(system, task.name, name) for name in ("unseen_score", "pruned_score"))
        rules, left = (results.values(system, task.name, name) for name in ("rules", "pruned_rules"))
        if episodes_of(task) == GAMES:
            got, fewer = many_games(results, system, task), []
        cells = [system, str(len(got)), *played_on(got, task), spread(rules)]
        lines.append("| " + " | ".join([*cells, reach(left), spread(fewer), reach(fewer)]) + " |")
    return "\n".join(lines)


def played_on(scores: list[float], task: EnvTask) -> tuple[str, str]:
    """Return spread and reach of the scores of those that always had a rule, and how many had not."""
    answered = [score for score in scores if score > task.floor]
    failed = len(scores) - len(answered)
    return spread(answered), reach(answered) + (f"; {failed} met a state without a rule" if failed else "")


def many_games(results: Results, system: str, task: EnvTask) -> list[float]:
    """Return the scores of all trials over many unseen episodes."""
    assert results.ruleset is not None
    rulesets = [results.ruleset(trial) for trial in results.trials(system, task.name)]
    return [evaluate(rules, task, seeds=task.unseen(GAMES), threads=2).performance for rules in rulesets]


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
    listed = as_decision_list(results.ruleset(chosen), task, "normal")
    share = optimal_share(listed, task)
    exact = evaluate(listed, task, "exact")
    said = f"optimal in {share:.1%} of states, worth {exact.performance:.4g} of at most {exact.optimum:.4g}"
    return Shown(chosen, listed, f"{len(listed)} rules as a decision list, {said}")


def optimal_share(ruleset: RuleSet, task: TabularTask) -> float:
    """Return the share of decision states in which the action is an optimal one."""
    values = value_iteration(task).action_values[task.decision_states]
    table = policy_table(ruleset, task)
    taken = values[np.arange(len(table)), np.maximum(table, 0)]
    return float(((table >= 0) & (taken >= values.max(axis=1) - 1e-9)).mean())


def optimal_table(results: Results, task: TabularTask) -> str:
    """Return what every system got in a task with a table, over all seeds."""
    lines = [
        "| system | seeds | share of optimal actions | from, to | exact value | optimum | rules |",
        "|---|---|---|---|---|---|---|",
    ]
    assert results.ruleset is not None
    optimum = task.optimal_performance("exact")
    for system in (each.name for each in results.plan.systems):
        shares = [optimal_share(results.ruleset(trial), task) for trial in results.trials(system, task.name)]
        values, rules = (results.values(system, task.name, name) for name in ("exact_performance", "rules"))
        cells: list[Any] = [system, len(shares), spread(shares), reach(shares), spread(values)]
        lines.append("| " + " | ".join(map(str, [*cells, f"{optimum:.4g}", spread(rules)])) + " |")
    return "\n".join(lines)


def spread(values: list[float]) -> str:
    """Return mean ± standard deviation."""
    if not values:
        return "–"
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
    return f"{np.mean(values):.4g} ± {deviation:.2g}"


def reach(values: list[float]) -> str:
    """Return the smallest and the largest value."""
    return f"{min(values):.4g} to {max(values):.4g}" if values else "–"


if __name__ == "__main__":
    main()
