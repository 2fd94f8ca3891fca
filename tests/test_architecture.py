from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ifthen
from tests import (
    naive,
    naive_disturbance,
    naive_envs,
    naive_evasion,
    naive_evolve,
    naive_explain,
    naive_plans,
    naive_pplx,
    naive_samuel,
    naive_values,
    naive_xcsf,
    naive_zcs,
)
from tests.naive_xcsf import NaiveEnvXCSF, NaiveXCSF
from tests.naive_zcs import NaiveZCS

SOURCE = Path(ifthen.__file__).parent
TESTS = Path(__file__).parent

# Each layer may import from those before it; the helpers are open to all.
LAYERS = [
    {"rules"},
    {"tasks"},
    {"environments"},
    {"simulate"},
    {"evolve"},
    {"systems"},
    {"simplify"},
    {"explanation"},
    {"robustness"},
    {"verification"},
    {"exports"},
    {"pages"},
    {"runs"},
    {"study"},
    {"tuning"},
    {"cli"},
    {"__main__"},
]
# SciPy's bootstrap takes a NumPy generator, made from a seed. An epoch of PPL-X in an environment has one of
# its own, made from the stream of its seed and its number, so that nothing goes on to the next epoch.
SEEDED_GENERATORS = {
    "study.statistics",
    "systems.pplx.action_costs",
    "systems.pplx.distil_values",
    "systems.pplx.knowledge",
    "systems.pplx.scratch",
}
# What can run code that a file holds. Copies of an environment, and a task for worker processes, are pickled
# in memory alone.
PICKLES = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
COPIES = {"environments.copies", "simulate.workers"}
MOST_ANY = 240
"""The most arguments and results whose type is given as Any."""
HELPERS = [
    "lazy",
    "results",
    "tables",
    "twins",
    "errors",
    "checks",
    "compiler",
    "jit",
    "parallel",
    "randomness",
    "store",
    "provenance",
    "figure_style",
    "digits",
    "text_table",
    "notebook",
]

# What each kernel is tested against. A kernel without an entry here fails the test below.
ORACLES: dict[str, dict[str, Any]] = {
    "randomness": {
        "mix": naive.mix,
        "draw": naive.draw,
        "uniform": naive.uniform,
        "below": naive.below,
        "normal": naive.normal,
        "fold": naive.fold,
    },
    "rules.box": {
        "matches": naive.matches,
        "rule_matches": naive.matches,
        "contains": naive.contains,
        "lowest_bit": naive.lowest_bit,
        "match_masks": naive.match_words,
        "words_for": naive.match_words,
    },
    "rules.strength": {"prediction": naive.prediction, "strengths_at": naive.strength},
    "rules.batch": {
        "is_inside": naive_envs.inside,
        "predicted": naive_envs.foretold,
        "is_stronger": naive_envs.strength_choice,
        "chosen": naive_envs.strength_choice,
        "choose_lanes": naive_envs.list_choice,
        "put_terms": naive_envs.summed,
        "put_interval": naive_envs.list_choice,
        "put_intervals": naive_envs.list_choice,
    },
    "rules.term": {"term_value": naive_envs.summed},
    "rules.blocks": {
        "new_blocks": naive_envs.first_match,
        "fill_blocks": naive_envs.first_match,
        "chosen_by_blocks": naive_envs.strongest,
    },
    "rules.prediction_array": {
        "prediction_arrays": naive.prediction_array,
        "best_actions": naive.prediction_array,
    },
    "environments.acrobot": {"accelerations": naive_envs.real_steps, "wrapped": naive_envs.real_steps},
    "environments.evasion": {
        "nearest_step": naive_evasion.reading,
        "steer": naive_evasion.steered,
        "nearest_approach": naive_evasion.approach,
        "fly": naive_evasion.flown,
        "observe": naive_evasion.sensed,
    },
    "tasks.disturbance": {
        "actions_at": naive_disturbance.told,
        "commanded": naive_disturbance.told,
        "sense": naive_disturbance.read,
    },
    "tasks.solve": {"evaluate_policies": naive.policy_values, "evaluate_policy": naive.policy_values},
    "simulate.table_noise": {"outcome": naive.outcome, "remember_outcomes": naive.outcome},
    "simulate.table_play": {
        "empty_tables": naive.play,
        "fill_step_row": naive.play,
        "fill_step_tables": naive.play,
        "step_on": naive.play,
        "fill_block_tables": naive.play,
        "play_blocks": naive.play,
        "play_steps": naive.play,
        "play_from": naive.play,
        "play_aligned": naive.play,
        "play_streamed": naive.play,
        "put_result": naive.play,
        "play_policies": naive.play,
    },
    "simulate.table_walk": {
        "walk_block": naive.play,
        "walk_gain": naive.play,
        "walk_on": naive.play,
        "fill_short_table": naive.play,
    },
    "simulate.byte_tables": {
        "first_byte": naive.play,
        "byte_of_block": naive.play,
        "new_lane": naive.play,
        "play_on": naive.play,
        "codes_at": naive.play,
    },
    "simulate.game": {"settle": naive_envs.episode},
    "simulate.twin_play": {
        "step_lanes": naive_envs.real_steps,
        "is_finite": naive_envs.episode,
        "play_on": naive_envs.episode,
        "play_episode": naive_envs.episode,
        "play_items": naive_envs.episode,
    },
    "simulate.reinforce": {
        "learning_rate": naive_evolve.update_action_set,
        "reinforce_rule": naive_evolve.update_action_set,
        "fill_payoffs": naive_envs.payoffs,
        "draw_starts": naive.below,
        "reinforce_episode": naive_envs.reinforced,
        "reinforce_in_twin": naive_envs.reinforced,
        "reinforce_on_twin": naive_envs.reinforced,
    },
    "simulate.bids": {
        "find_match_set": naive_samuel.match_set,
        "put_odds": naive_samuel.winner,
        "drawn_action": naive_samuel.winner,
        "mark_active": naive_samuel.played,
        "act": naive_samuel.played,
        "credit": naive_samuel.credited,
        "finish": naive_samuel.kept,
        "only_action": naive_samuel.winner,
        "put_outcomes": naive_samuel.in_table,
        "bid_on_table": naive_samuel.in_table,
        "bid_on_twin": naive_samuel.in_environment,
        "bid_lanes": naive_samuel.in_environment,
    },
    "simulate.table_rules": {
        "first_action": naive.first_match,
        "strongest_action": naive.strongest_action,
        "fill_policy_tables": naive.strongest_action,
        "fill_policy_table": naive.strongest_action,
        "new_workspace": naive_evolve.reinforce,
        "generate_trajectory": naive_evolve.reinforce,
        "reinforce_action_set": naive_evolve.update_action_set,
        "reinforce_ruleset": naive_evolve.reinforce,
        "reinforce_rules": naive_evolve.reinforce,
    },
    "evolve.operators": {
        "tournament": naive_evolve.tournament,
        "swap_alleles": naive_evolve.swap_alleles,
        "swap_rules": naive_evolve.swap_rules,
        "swap_bounds": naive_evolve.swap_bounds,
        "mutate_action": naive_evolve.mutate_action,
        "mutate": naive_evolve.mutate,
        "shift_bounds": naive_xcsf.shift_mixed,
    },
    "evolve.alleles": {
        "rounded": naive_evolve.rounded,
        "nearest_whole": naive_evolve.rounded,
        "random_allele": naive_evolve.random_allele,
        "geometric": naive_evolve.geometric,
        "moved": naive_evolve.moved,
        "moved_allele": naive_evolve.moved_allele,
    },
    "systems.pittsburgh": {
        "random_rules": naive_evolve.random_rules,
        "breed": naive_evolve.breed_round,
        "breed_two": naive_evolve.breed_round,
        "copy_ruleset": naive_evolve.breed_round,
    },
    "systems.samuel.granularity": {
        "step_at": naive_plans.Steps.cells,
        "value_at": naive_plans.Steps.values,
        "steps_around": naive_plans.Steps.reading,
        "is_cyclic": naive_plans.Steps.distance,
        "distance": naive_plans.Steps.distance,
        "width_of": naive_plans.Steps.widths,
        "share_of": naive_plans.Steps.shares,
        "put_interval": naive_plans.Steps.bounds,
        "round_outwards": naive_plans.Steps.rounded_outwards,
        "specialized": naive_plans.specialized,
        "generalized": naive_plans.generalized,
        "holds_reading": naive_plans.trace_of,
        "covering": naive_plans.covering,
        "crept": naive_plans.crept,
        "mutate_end": naive_plans.mutated,
        "common_steps": naive_plans.overlaps,
        "put_overlaps": naive_plans.overlaps,
        "hull": naive_plans.hull,
    },
    "systems.samuel.means": dict.fromkeys(("block_sum", "halved_sum", "mean_of"), naive_plans.mean),
    "systems.samuel.plans": {
        "uniforms": naive_plans.uniforms,
        "empty_plan": naive_plans.joined,
        "copy_rule": naive_plans.joined,
        "selected": naive_plans.joined,
        "same_condition": naive_plans.has,
    },
    "systems.samuel.samuel_operators": {
        "score_of": naive_plans.trace_of,
        "put_candidates": naive_plans.trace_of,
        "draw_event": naive_plans.Trace.event,
        "any_of": naive_plans.Trace.event,
        "put_rule": naive_plans.applied,
        "specialize": naive_plans.specialize,
        "generalize": naive_plans.generalize,
        "cover": naive_plans.cover,
        "avoid": naive_plans.avoid,
        "merge": naive_plans.merge,
        "mutation": naive_plans.mutation,
        "creep": naive_plans.creep,
        "make_rule": naive_plans.applied,
        "drawn_operators": naive_plans.drawn_operators,
        "with_rules": naive_plans.applied,
        "has_rule": naive_plans.has,
    },
    "systems.samuel.breeding": {
        "shared_out": naive_plans.crossed,
        "sides_of": naive_plans.crossed,
        "mutate_rules": naive_plans.with_mutations,
        "without_useless": naive_plans.with_deletions,
        "contained": naive_plans.contained,
        "lies_in": naive_plans.contained,
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
        "matches_live": NaiveEnvXCSF.match_set,
        "matched_live": NaiveEnvXCSF.match_set,
    },
    "systems.xcsf.turnover": {
        "cover_real": naive_xcsf.cover_real,
        "insert": NaiveXCSF.insert,
        "has_rule": NaiveXCSF.match_set,
        "cover": NaiveXCSF.cover,
        "can_subsume": naive_xcsf.can_subsume,
        "subsume_set": naive_xcsf.subsume_set,
        "copy_rule": NaiveXCSF.run_ga,
        "add_child": NaiveXCSF.add,
        "add_rule": NaiveXCSF.add,
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
        "is_whole": NaiveXCSF.is_whole,
        "mutate_in_niche": NaiveXCSF.mutate_in_niche,
        "specify": NaiveXCSF.specify,
        "inherit": NaiveXCSF.inherit,
        "run_ga": NaiveXCSF.run_ga,
    },
    "systems.xcsf.xcsf_steps": {
        "prediction_array": NaiveXCSF.predicted,
        "best_action": NaiveXCSF.prediction_array,
        "credit": NaiveXCSF.credit,
        "begin_episode": NaiveXCSF.begin_episode,
        "act": NaiveXCSF.step,
        "follow": NaiveXCSF.step,
        "run_steps": NaiveXCSF.run,
        "predict_all": NaiveXCSF.predicted,
    },
    "systems.xcsf.xcsf_on_env": {
        "arrive": NaiveEnvXCSF.meet,
        "live_step": NaiveEnvXCSF.step,
        "run_twin": NaiveEnvXCSF.run_episodes,
    },
    "systems.zcs.breed": {
        "put_interval": NaiveZCS.interval,
        "random_value": NaiveZCS.value,
        "new_rule": NaiveZCS.new_rule,
        "fill_population": NaiveZCS.fill,
        "spin": naive_zcs.spun,
        "weak_rule": NaiveZCS.weak,
        "copy_rule": NaiveZCS.put,
        "cover": NaiveZCS.cover,
        "mutate_rule": NaiveZCS.mutated,
        "breed": NaiveZCS.breed,
    },
    "systems.zcs.zcs_steps": {
        "clip": naive_zcs.clipped,
        "match_set": NaiveZCS.matching,
        "act": NaiveZCS.act,
        "is_too_low": NaiveZCS.is_too_low,
        "settle": NaiveZCS.settle,
        "run_table": NaiveZCS.run,
        "run_twin": NaiveZCS.run,
    },
    "systems.pplx.learnt_table": {
        "action_value": naive_pplx.action_value,
        "solve": naive_pplx.optimal_values,
        "collect": naive_pplx.collect,
        "least_tried": naive_pplx.least_tried,
        "greedy": naive_pplx.collect,
    },
    "systems.pplx.counted_table": {
        "expected_return": naive_pplx.expected_return,
    },
    "systems.pplx.table_lists": {
        "copy_list": naive_pplx.widened,
        "copy_rule": naive_pplx.widened,
        "match_states": naive_pplx.holds,
        "decide": naive_pplx.policy_of,
        "decider": naive_pplx.decider,
        "widen": naive_pplx.widened,
        "differ": naive_pplx.widened,
    },
    "systems.pplx.list_value": {
        "new_policy_value": naive_pplx.start_value,
        "new_policy_change": naive_pplx.start_value,
        "value": naive_pplx.start_value,
        "list_value": naive_pplx.start_value,
        "eliminate": naive_pplx.policy_values,
        "row_change": naive_pplx.action_value,
        "changed_states": naive_pplx.policy_of,
        "value_of_change": naive_pplx.start_value,
        "read_policy": naive_pplx.policy_of,
        "transitions": naive_pplx.policy_of,
        "pays_to_sweep": naive_pplx.start_value,
        "sweeps_for": naive_pplx.start_value,
        "swept_value": naive_pplx.start_value,
        "changed_value": naive_pplx.start_value,
        "taken_value": naive_pplx.start_value,
        "take_change": naive_pplx.occupancy,
        "error": naive_pplx.policy_values,
    },
    "systems.pplx.anneal": {
        "guide": naive_pplx.guide,
        "grow": naive_pplx.grown,
        "place_to_mend": naive_pplx.place_to_mend,
        "replace_rule": naive_pplx.replaced,
        "swap_rules": naive_pplx.changed,
        "move_bounds": naive_pplx.moved,
        "change_list": naive_pplx.changed,
        "anneal": naive_pplx.annealed,
        "drop_least_missed": naive_pplx.values_without,
    },
    "systems.pplx.matrices": {
        "multiply": naive_values.product,
        "rotate": naive_values.eigenvalues_of_two,
        "diagonalise": naive_values.eigenvalues_of_two,
    },
    "systems.pplx.q_network": {
        "weights_of": naive_values.weights_of,
        "layers": naive_values.layers,
        "fill_network": naive_values.first_weights,
        "one_layer": naive_values.one_layer,
        "values_at": naive_values.values_at,
        "scaled": naive_values.scaled,
        "action_values": naive_values.action_values,
        "explore": naive_values.explored,
    },
    "systems.pplx.q_training": {
        "rectify": naive_values.rectified,
        "forward": naive_values.forward,
        "add_values": naive_values.summed,
        "fill_goals": naive_values.goals,
        "draw_batch": naive_values.drawn_step,
        "step_down": naive_values.adam,
        "clear_idle": naive_values.without_idle,
        "add_caution": naive_values.cautioned,
        "backward": naive_values.backward,
        "train": naive_values.trained,
    },
    "systems.pplx.imitation_tree": {
        "bin_points": naive_values.bin_of,
        "best_split": naive_values.best_split,
        "weight_of": naive_values.best_split,
    },
    "systems.pplx.changes": {
        "copy_rule": naive_values.changed_rules,
        "copy_rules": naive_values.fitted_rules,
        "copy_term": naive_values.fitted_rules,
        "fill_term": naive_values.term_values,
        "a_move": naive_values.move,
        "draw_test": naive_values.drawn_test,
        "move_number": naive_values.moved_number,
        "replace_rule": naive_values.replaced_rule,
        "change": naive_values.changed_rules,
    },
    "systems.pplx.fit": {
        "total_cost": naive_values.total_cost,
        "count_tests": naive_values.count_tests,
        "fit_rules": naive_values.fitted_rules,
    },
    "rules.boxes.rank_space": {
        "share_of": naive_explain.all_cells,
        "overlap": naive_explain.decided_shares,
        "choose_cut": naive_explain.decided_shares,
        "put_cell": naive_explain.decided_shares,
        "put_meeting": naive_explain.decided_shares,
    },
    "rules.boxes.differences": {
        "keep_cell": naive_explain.decided_shares,
        "shorten": naive_explain.same_everywhere,
        "same_rules": naive_explain.same_everywhere,
        "fills_most": naive_explain.same_everywhere,
        "find_differences": naive_explain.same_everywhere,
    },
    "rules.boxes.cover": {"widen": naive_explain.first_box_at},
    "simplify.shortest.bits": {
        "count_bits": naive_explain.states_in,
        "states_inside": naive_explain.states_in,
        "fewest_wrong": naive_explain.fewest_wrong,
        "has_wrong": naive_explain.fewest_wrong,
        "grow": naive_explain.next_steps,
        "one_action_left": naive_explain.fewest_wrong,
        "largest": naive_explain.next_steps,
        "peel": naive_explain.list_cost,
    },
    "simplify.shortest.annealing": {
        "price": naive_explain.list_cost,
        "put": naive_explain.list_cost,
        "renew": naive_explain.states_in,
        "reshape": naive_explain.states_in,
        "propose": naive_explain.list_cost,
        "drop_least": naive_explain.list_cost,
        "copy_from": naive_explain.list_cost,
        "anneal": naive_explain.list_cost,
    },
    "simplify.shortest.facts": {
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
    "simplify.compact": {"best_of_kept": naive.drop_rules, "drop_rules": naive.drop_rules},
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


def imported(node: ast.AST) -> Iterator[str]:
    """Yield the ifthen modules that a statement imports."""
    if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ifthen":
        base = (node.module or "").split(".")[1:]
        for alias in node.names:
            yield ".".join([*base, alias.name] if len(base) < 2 else base)
    elif isinstance(node, ast.Import):
        yield from (a.name.removeprefix("ifthen.") for a in node.names if a.name.startswith("ifthen."))


def all_imports(tree: ast.Module) -> set[str]:
    """Return the ifthen modules a module imports, at any time, for type checking and as text included."""
    nodes = list(ast.walk(tree))
    written = {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    by_name = {text.removeprefix("ifthen.") for text in written if text.startswith("ifthen.")}
    return {name for node in nodes for name in imported(node)} | by_name & set(modules())


def module_level_imports(tree: ast.Module) -> Iterator[str]:
    """Yield the ifthen modules a module imports when it is imported; not those for type checking."""
    pending: list[ast.stmt] = list(tree.body)
    while pending:
        node = pending.pop()
        yield from imported(node)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            pending += node.orelse
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            pending += node.body + getattr(node, "orelse", [])


def test_no_two_files_have_the_same_name_except_a_command_and_the_function_it_calls() -> None:
    # Whoever knows the name of a file finds it. `cli/` names its files like the commands, and the library
    # names a file like the public function or class in it: a command and what it calls may share a name.
    files: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        if path.name not in ("__init__.py", "__main__.py"):
            files.setdefault(path.stem, set()).add(path.relative_to(SOURCE).parent.as_posix())
    assert {name: folders for name, folders in files.items() if len(folders) > 1} == {
        "check": {"cli", "runs"},
        "diff": {"cli", "explanation"},
        "distil": {"cli", "runs"},
        "evaluate": {"cli", "simulate"},
        "front": {"cli", "systems"},
        "prune": {"cli", "simplify"},
        "stress": {"cli", "robustness"},
        "tune": {"cli", "tuning"},
    }


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


def upward_imports() -> set[tuple[str, str]]:
    """Return all imports against the order of the layers, inside functions too."""
    layered = set(HELPERS).union(*LAYERS)
    return {
        (name, other)
        for name, tree in modules().items()
        for other in all_imports(tree)
        if other.split(".")[0] in layered and height(other) > height(name)
    }


def test_imports_point_one_way_from_rules_to_commands() -> None:
    assert upward_imports() == set()


def test_the_look_at_imports_sees_what_it_should() -> None:
    tree = ast.parse(
        "from ifthen.rules.box import matches\n"
        "if TYPE_CHECKING:\n    from ifthen import study\n"
        "def f():\n    import ifthen.cli.train\n    home = 'ifthen.randomness'\n"
    )
    assert set(module_level_imports(tree)) == {"rules.box"}
    assert all_imports(tree) == {"rules.box", "study", "cli.train", "randomness"}
    assert "jit.kernel" in set(module_level_imports(modules()["randomness"]))


def test_modules_import_no_cycles() -> None:
    trees = modules()
    imports = {
        name: {i for i in module_level_imports(tree) if i in trees} - {name} for name, tree in trees.items()
    }
    settled: set[str] = set()
    while ready := {n for n, wanted in imports.items() if n not in settled and wanted <= settled}:
        settled |= ready
    assert set(imports) - settled == set()


def is_bare_any(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id == "Any"


def bare_any() -> list[tuple[str, str]]:
    """Return the arguments, and "return" for results, whose type is given as Any, by function."""
    found = []
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                taken = [
                    n for n in ast.walk(node.args) if isinstance(n, ast.arg) and is_bare_any(n.annotation)
                ]
                names = [n.arg for n in taken] + ["return"] * is_bare_any(node.returns)
                found += [(f"{name}.{node.name}", argument) for argument in names]
    return found


def test_few_signatures_say_any() -> None:
    # `object` is the type of what is looked at before it is used; `Any` is left for what has no types.
    assert len(bare_any()) <= MOST_ANY


def test_policies_and_tasks_of_public_functions_have_a_type() -> None:
    untyped = {
        function.rsplit(".", 1)[1] for function, argument in bare_any() if argument in ("policy", "task")
    }
    assert untyped.isdisjoint(dir(ifthen))
    assert "policy" not in {argument for _, argument in bare_any()}


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
    oracles = sorted(TESTS.glob("naive*.py"))
    assert len(oracles) >= 10
    for path in oracles:
        tree = ast.parse(path.read_text())
        imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        imported |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        assert not any(module.startswith("ifthen") for module in imported)


@pytest.mark.parametrize("module", sorted(modules()))
def test_nothing_is_compiled_in_parallel_or_with_fast_mathematics(module: str) -> None:
    # Threads of our own and exact arithmetic are what makes results equal for any number of threads.
    names = {n.arg for n in ast.walk(modules()[module]) if isinstance(n, ast.keyword)}
    assert not names & {"fastmath", "parallel"}


def is_forbidden(node: ast.AST, seeded: bool, copies: bool) -> bool:
    """Return whether a node names another source of random numbers, or what reads pickles.

    Args:
        node: of a syntax tree.
        seeded: whether generators of NumPy are allowed.
        copies: whether pickles that never were in a file are allowed.
    """
    names: set[str] = set()
    match node:
        case ast.Import(names=aliases):
            names = {alias.name for alias in aliases}
        case ast.ImportFrom(module=str(module), names=aliases, level=0):
            names = {module} | {f"{module}.{alias.name}" for alias in aliases}
        case ast.Attribute(value=ast.Name("np" | "numpy"), attr="random"):
            names = {"numpy.random"}
        case ast.keyword(arg="allow_pickle", value=value):
            return not (isinstance(value, ast.Constant) and value.value is False)
    known = (PICKLES - {"cloudpickle"} if copies else PICKLES) | {"random"}
    of_numpy = any(name == "numpy.random" or name.startswith("numpy.random.") for name in names)
    return bool({name.split(".")[0] for name in names} & known) or (of_numpy and not seeded)


@pytest.mark.parametrize("module", sorted(modules()))
def test_random_numbers_come_from_our_streams_only_and_no_file_is_unpickled(module: str) -> None:
    seeded, copies = module in SEEDED_GENERATORS, module in COPIES
    for node in ast.walk(modules()[module]):
        assert not is_forbidden(node, seeded, copies), ast.unparse(node)


@pytest.mark.parametrize(
    "text",
    [
        "import random",
        "import pickle as p",
        "from pickle import loads",
        "import cloudpickle",
        "import numpy.random as r",
        "import numpy.random.mtrand",
        "from numpy import random",
        "from numpy.random import default_rng",
        "from random import random",
        "rng = np.random.default_rng(0)",
        "numpy.load(path, allow_pickle=True)",
    ],
)
def test_every_way_to_get_other_random_numbers_or_pickles_is_seen(text: str) -> None:
    assert any(is_forbidden(node, False, False) for node in ast.walk(ast.parse(text)))


@pytest.mark.parametrize(
    "text",
    ["from ifthen.randomness import stream", "from numpy import array", "np.load(p, allow_pickle=False)"],
)
def test_our_streams_and_arrays_are_no_forbidden_names(text: str) -> None:
    assert not any(is_forbidden(node, False, False) for node in ast.walk(ast.parse(text)))
