from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ifthen
from tests import naive, naive_envs, naive_evolve, naive_explain, naive_lander, naive_xcsf
from tests.naive_xcsf import NaiveEnvXCSF, NaiveXCSF

SOURCE = Path(ifthen.__file__).parent
TESTS = Path(__file__).parent

# Each layer may import from those before it; the helpers are open to all.
LAYERS = [
    {"rules"},
    {"inference"},
    {"tasks"},
    {"rollout"},
    {"evolve"},
    {"systems"},
    {"study", "explain"},
    {"cli"},
]
# Rulesets and systems have methods that explain them: what these return is imported for type checking only.
TYPED_UPWARDS = {"rules.ruleset", "systems.base"}
HELPERS = [
    "errors",
    "checks",
    "jit",
    "parallel",
    "randomness",
    "store",
    "provenance",
    "figure_style",
    "digits",
]

# What each kernel is tested against. A kernel without an entry here fails the test below.
ORACLES: dict[str, dict[str, Any]] = {
    "randomness": {
        "mix": naive.mix,
        "draw": naive.draw,
        "uniform": naive.uniform,
        "below": naive.below,
        "fold": naive.fold,
    },
    "rules.box": {
        "matches": naive.matches,
        "contains": naive.contains,
        "lowest_bit": naive.lowest_bit,
        "match_masks": naive.match_words,
        "words_for": naive.match_words,
    },
    "inference.decision_list": {"decision_tables": naive.first_match},
    "inference.strength": {
        "prediction": naive.prediction,
        "strengths_at": naive.strength,
        "strongest_action": naive.strongest_action,
        "strength_tables": naive.strongest_action,
    },
    "inference.rulebook": {
        "is_inside": naive_envs.inside,
        "predicted": naive_envs.foretold,
        "chosen": naive_envs.strength_choice,
        "choose_lanes": naive_envs.list_choice,
    },
    "inference.blocks": {
        "new_blocks": naive_envs.first_match,
        "fill_blocks": naive_envs.first_match,
        "chosen_by_blocks": naive_envs.strongest,
    },
    "inference.prediction_array": {
        "prediction_arrays": naive.prediction_array,
        "best_actions": naive.prediction_array,
    },
    "tasks.twins.twin": {"replay": naive_envs.real_steps},
    "tasks.twins.acrobot": {"accelerations": naive_envs.real_steps, "wrapped": naive_envs.real_steps},
    "tasks.twins.lunar_lander": {
        "ground": naive_lander.ground_height,
        "thrust": naive_lander.engine,
        "foot": naive_lander.foot_place,
        "touches": naive_lander.hull_touches,
    },
    "tasks.solve": {"evaluate_policies": naive.policy_values},
    "rollout.tabular": {
        "outcome": naive.outcome,
        "remember_outcomes": naive.outcome,
        "empty_tables": naive.play,
        "fill_step_tables": naive.play,
        "fill_block_tables": naive.play,
        "play_blocks": naive.play,
        "play_steps": naive.play,
        "play_aligned": naive.play,
        "play_streamed": naive.play,
        "play_policies": naive.play,
    },
    "rollout.game": {"settle": naive_envs.episode},
    "rollout.twin": {
        "step_twin": naive_envs.real_steps,
        "step_lanes": naive_envs.real_steps,
        "is_finite": naive_envs.episode,
        "play_episode": naive_envs.episode,
        "play_items": naive_envs.episode,
    },
    "evolve.selection": {"tournament": naive_evolve.tournament},
    "evolve.crossover": {
        "swap_alleles": naive_evolve.swap_alleles,
        "swap_rules": naive_evolve.swap_rules,
        "swap_bounds": naive_evolve.swap_bounds,
    },
    "evolve.rounding": {"rounded": naive_evolve.rounded},
    "evolve.alleles": {
        "random_allele": naive_evolve.random_allele,
        "geometric": naive_evolve.geometric,
        "gaussian": naive_evolve.gaussian,
        "moved": naive_evolve.moved,
        "moved_allele": naive_evolve.moved_allele,
    },
    "evolve.mutation": {
        "mutate_action": naive_evolve.mutate_action,
        "mutate": naive_evolve.mutate,
        "shift_bounds": naive_evolve.shift_bounds,
    },
    "systems.pittsburgh": {
        "random_rules": naive_evolve.random_rules,
        "breed": naive_evolve.breed_round,
    },
    "systems.ppl_st": {
        "update_action_set": naive_evolve.update_action_set,
        "new_workspace": naive_evolve.reinforce,
        "generate_trajectory": naive_evolve.reinforce,
        "reinforce_trajectory": naive_evolve.reinforce,
        "reinforce_rules": naive_evolve.reinforce,
    },
    "systems.reinforce": {
        "draw_starts": naive.below,
        "update_action_set_at": naive_envs.reinforce_at,
        "reinforce": naive_envs.payoffs,
        "reinforce_on_twin": naive_envs.reinforced,
    },
    "systems.xcsf.index": {
        "states_up_to": NaiveXCSF.match_set,
        "new_space": NaiveXCSF.match_set,
        "bits_of": naive_xcsf.equal,
        "rule_key": naive_xcsf.equal,
        "matched_states": NaiveXCSF.match_set,
        "flip_bits": NaiveXCSF.match_set,
        "enter": NaiveXCSF.insert,
        "remove": NaiveXCSF.remove,
        "free_slot": NaiveXCSF.insert,
        "same_rule": naive_xcsf.equal,
        "equal_rule": NaiveXCSF.add,
        "list_members": NaiveXCSF.match_set,
        "mark_members": NaiveXCSF.match_set,
    },
    "systems.xcsf.places": {
        "matches_live": NaiveEnvXCSF.match_set,
        "matched_live": NaiveEnvXCSF.match_set,
    },
    "systems.xcsf.reals": {
        "cover_real": naive_xcsf.cover_real,
        "shift_mixed": naive_xcsf.shift_mixed,
    },
    "systems.xcsf.turnover": {
        "insert": NaiveXCSF.insert,
        "has_rule": NaiveXCSF.match_set,
        "cover": NaiveXCSF.cover,
        "can_subsume": naive_xcsf.can_subsume,
        "subsume_set": naive_xcsf.subsume_set,
        "copy_rule": NaiveXCSF.run_ga,
        "add_child": NaiveXCSF.add,
        "vote": naive_xcsf.votes,
        "mean_fitness": naive_xcsf.votes,
        "draw_by_votes": naive_xcsf.roulette,
        "delete_one": NaiveXCSF.delete,
    },
    "systems.xcsf.update": {
        "reset_covariance": naive_xcsf.unit_matrix,
        "learn_rls": naive_xcsf.learn_rls,
        "learn_nlms": naive_xcsf.learn_nlms,
        "accuracy": naive_xcsf.accuracy,
        "update_set": naive_xcsf.update_set,
    },
    "systems.xcsf.ga": {
        "is_due": naive_xcsf.is_due,
        "set_tournament": naive_xcsf.set_tournament,
        "set_roulette": naive_xcsf.set_roulette,
        "run_ga": NaiveXCSF.run_ga,
    },
    "systems.xcsf.run": {
        "prediction_array": NaiveXCSF.predicted,
        "best_action": NaiveXCSF.prediction_array,
        "credit": NaiveXCSF.credit,
        "begin_episode": NaiveXCSF.begin_episode,
        "act": NaiveXCSF.step,
        "follow": NaiveXCSF.step,
        "take_step": NaiveXCSF.step,
        "run_steps": NaiveXCSF.run,
    },
    "systems.xcsf.live": {
        "arrive": NaiveEnvXCSF.meet,
        "live_step": NaiveEnvXCSF.step,
        "next_start": NaiveEnvXCSF.begin_episode,
        "next_action": NaiveEnvXCSF.step,
        "run_twin": NaiveEnvXCSF.run_episodes,
    },
    "explain.boxes.holes": {
        "share_of": naive_explain.all_cells,
        "overlap": naive_explain.decided_shares,
        "keep_meeting": naive_explain.decided_shares,
        "choose_cut": naive_explain.decided_shares,
        "most_waiting": naive_explain.decided_shares,
        "put_cell": naive_explain.decided_shares,
        "put_meeting": naive_explain.decided_shares,
        "keep_hole": naive_explain.decided_shares,
        "find_holes": naive_explain.decided_shares,
    },
    "explain.boxes.cover": {"widen": naive_explain.first_box_at},
    "explain.boxes.compare": {
        "shorten": naive_explain.same_everywhere,
        "same_rules": naive_explain.same_everywhere,
        "fills_most": naive_explain.same_everywhere,
        "find_difference": naive_explain.same_everywhere,
    },
    "explain.verify.redundant": {"needed_votes": naive_explain.needed_alone},
    "explain.shortest.bits": {
        "count_bits": naive_explain.states_in,
        "states_inside": naive_explain.states_in,
        "fewest_wrong": naive_explain.fewest_wrong,
    },
    "explain.shortest.greedy": {
        "has_wrong": naive_explain.fewest_wrong,
        "grow": naive_explain.next_steps,
        "one_action_left": naive_explain.fewest_wrong,
        "largest": naive_explain.next_steps,
        "peel": naive_explain.list_cost,
    },
    "explain.shortest.search": {
        "price": naive_explain.list_cost,
        "put": naive_explain.list_cost,
        "renew": naive_explain.states_in,
        "reshape": naive_explain.states_in,
        "propose": naive_explain.list_cost,
        "drop_least": naive_explain.list_cost,
        "copy_from": naive_explain.list_cost,
        "anneal": naive_explain.list_cost,
    },
    "explain.shortest.facts": {
        "hull": naive_explain.states_in,
        "one_rule": naive_explain.fewest_rules,
        "two_rules": naive_explain.fewest_rules,
        "impossible": naive_explain.fewest_rules,
        "widest_steps": naive_explain.next_steps,
        "follows": naive_explain.fewest_rules,
        "rarest": naive_explain.fewest_rules,
        "learn": naive_explain.fewest_rules,
        "decide_with": naive_explain.fewest_rules,
    },
    "explain.fewer.compact": {"best_of_kept": naive.drop_rules, "drop_rules": naive.drop_rules},
    "study.bootstrap": {"resample": naive.resampled_means},
}


@functools.cache
def modules() -> dict[str, ast.Module]:
    """Return the syntax trees of all modules by dotted name below `ifthen`."""
    trees = {}
    for path in SOURCE.rglob("*.py"):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix("__init__").strip(".")
        if name:
            trees[name] = ast.parse(path.read_text())
    return trees


def module_level_imports(name: str, tree: ast.Module) -> Iterator[str]:
    """Yield the ifthen modules a module imports when it is imported, type checking included."""
    pending: list[ast.stmt] = list(tree.body)
    while pending:
        node = pending.pop()
        if name in TYPED_UPWARDS and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ifthen":
            base = (node.module or "").split(".")[1:]
            for alias in node.names:
                yield ".".join([*base, alias.name] if len(base) < 2 else base)
        elif isinstance(node, ast.Import):
            yield from (a.name.removeprefix("ifthen.") for a in node.names if a.name.startswith("ifthen."))
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            pending += node.body + getattr(node, "orelse", [])


def height(module: str) -> int:
    """Return how high a module stands: helpers from 0, then the layers."""
    top = module.split(".")[0]
    if top in HELPERS:
        return 0
    return next(number for number, layer in enumerate(LAYERS, start=1) if top in layer)


def test_every_module_belongs_to_a_layer_or_is_a_helper() -> None:
    known = set(HELPERS).union(*LAYERS)
    assert {name.split(".")[0] for name in modules()} <= known
    assert set(HELPERS) <= set(modules())


def test_imports_point_one_way_from_rules_to_commands() -> None:
    upward = [
        f"{name} imports {imported}"
        for name, tree in modules().items()
        for imported in module_level_imports(name, tree)
        if imported.split(".")[0] in set(HELPERS).union(*LAYERS) and height(imported) > height(name)
    ]
    assert upward == []


def test_the_look_at_imports_sees_what_it_should() -> None:
    found = {name: set(module_level_imports(name, tree)) for name, tree in modules().items()}
    assert {"checks", "jit"} <= {name.split(".")[0] for name in found["randomness"]}
    assert "rollout.tabular" in found["rollout.evaluate"]
    assert "rollout.evaluate" not in found["tasks.tabular"]  # imported inside a function


def test_modules_import_no_cycles() -> None:
    trees = modules()
    imports = {
        name: {i for i in module_level_imports(name, tree) if i in trees} - {name}
        for name, tree in trees.items()
    }
    settled: set[str] = set()
    while ready := {n for n, wanted in imports.items() if n not in settled and wanted <= settled}:
        settled |= ready
    assert set(imports) - settled == set()


def kernels() -> dict[str, set[str]]:
    """Return the names of the functions decorated as kernels of any kind, by module."""
    found = {
        name: {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
            and any(
                isinstance(d, ast.Name) and d.id in ("kernel", "lean_kernel", "inlined_kernel")
                for d in node.decorator_list
            )
        }
        for name, tree in modules().items()
    }
    return {name: functions for name, functions in found.items() if functions}


def test_every_kernel_has_an_oracle_and_no_oracle_is_left_over() -> None:
    assert kernels() == {module: set(oracles) for module, oracles in ORACLES.items()}


def test_oracles_are_plain_python_that_knows_nothing_of_ifthen() -> None:
    for name in ("naive.py", "naive_evolve.py", "naive_explain.py", "naive_lander.py", "naive_xcsf.py"):
        tree = ast.parse((TESTS / name).read_text())
        imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        imported |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        assert not any(module.startswith("ifthen") for module in imported)


@pytest.mark.parametrize("module", sorted(modules()))
def test_nothing_is_compiled_in_parallel_or_with_fast_mathematics(module: str) -> None:
    # Threads of our own and exact arithmetic are what makes results equal for any number of threads.
    names = {n.arg for n in ast.walk(modules()[module]) if isinstance(n, ast.keyword)}
    assert not names & {"fastmath", "parallel"}


@pytest.mark.parametrize("module", sorted(modules()))
def test_random_numbers_come_from_our_streams_only_and_nothing_is_unpickled(module: str) -> None:
    for node in ast.walk(modules()[module]):
        if isinstance(node, ast.Attribute):
            assert not (node.attr == "random" and getattr(node.value, "id", "") in {"np", "numpy"})
        if isinstance(node, ast.Import):
            assert not {alias.name for alias in node.names} & {"pickle", "random", "marshal", "shelve"}
