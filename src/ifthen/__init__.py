"""Reinforcement-learning policies people can read: short lists of IF-THEN rules.

task = ifthen.frozen_lake(8, p_slip=0.3)             or task_by_name("Taxi-v4"), env_task("CartPole-v1")
system = ifthen.PPLST(task, seed=0).learn(250)       or PPLDL, XCSF
system.ruleset                                       rules: explain, read, verify, simplify, export
ifthen.evaluate(system, task, "exact")               how well it does
ifthen.read_ruleset("mine.txt")                      rules that somebody wrote
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import gymnasium

if TYPE_CHECKING:
    from ifthen.errors import (
        EngineError,
        IfthenError,
        ModelFileError,
        OutputError,
        ParameterError,
        RuleError,
        TaskError,
    )
    from ifthen.explain.best_actions import BestActionMap, best_action_map
    from ifthen.explain.diff import PolicyDiff, diff
    from ifthen.explain.fewer.compact import compact
    from ifthen.explain.fewer.ladder import Ladder, ladder
    from ifthen.explain.fewer.played import Played, prune_by_playing
    from ifthen.explain.fewer.simplify import Simplified, as_decision_list, simplify
    from ifthen.explain.page.explain_page import explain_page
    from ifthen.explain.pictures.write import write_pictures
    from ifthen.explain.read import parse_rules, read_ruleset
    from ifthen.explain.shortest import ShortestList, shortest_decision_list
    from ifthen.explain.trace import Trace, trace
    from ifthen.explain.verify import Verification, verify
    from ifthen.explain.why import Explanation
    from ifthen.explain.words import Reading
    from ifthen.inference.decision_list import DecisionList
    from ifthen.inference.prediction_array import PredictionArrayRules
    from ifthen.inference.strength import StrengthRules
    from ifthen.rollout.evaluate import Evaluation, evaluate
    from ifthen.rollout.score import Score
    from ifthen.rules.features import Feature
    from ifthen.rules.ruleset import NULL_ACTION, RuleSet
    from ifthen.systems.base import System
    from ifthen.systems.ppl_dl import PPLDL
    from ifthen.systems.ppl_st import PPLST
    from ifthen.systems.registry import load
    from ifthen.systems.xcsf.system import XCSF
    from ifthen.tasks.env_task import EnvTask
    from ifthen.tasks.from_gymnasium import env_task
    from ifthen.tasks.frozen_lake import frozen_lake, paper_suite
    from ifthen.tasks.names import task_by_name
    from ifthen.tasks.solve import Solution, policy_values, value_iteration
    from ifthen.tasks.tabular import TabularTask
    from ifthen.tasks.twins import Twin, check_twin, register_twin, twin_step

__version__ = "0.1.0"

# Public names are imported on first use: `ifthen --help` must not wait for the compiler.
_HOME = {
    "BestActionMap": "ifthen.explain.best_actions",
    "DecisionList": "ifthen.inference.decision_list",
    "EngineError": "ifthen.errors",
    "EnvTask": "ifthen.tasks.env_task",
    "Evaluation": "ifthen.rollout.evaluate",
    "Explanation": "ifthen.explain.why",
    "Feature": "ifthen.rules.features",
    "IfthenError": "ifthen.errors",
    "Ladder": "ifthen.explain.fewer.ladder",
    "ModelFileError": "ifthen.errors",
    "NULL_ACTION": "ifthen.rules.ruleset",
    "OutputError": "ifthen.errors",
    "PPLDL": "ifthen.systems.ppl_dl",
    "PPLST": "ifthen.systems.ppl_st",
    "ParameterError": "ifthen.errors",
    "Played": "ifthen.explain.fewer.played",
    "PolicyDiff": "ifthen.explain.diff",
    "PredictionArrayRules": "ifthen.inference.prediction_array",
    "Reading": "ifthen.explain.words",
    "RuleError": "ifthen.errors",
    "RuleSet": "ifthen.rules.ruleset",
    "Score": "ifthen.rollout.score",
    "ShortestList": "ifthen.explain.shortest",
    "Simplified": "ifthen.explain.fewer.simplify",
    "Solution": "ifthen.tasks.solve",
    "StrengthRules": "ifthen.inference.strength",
    "System": "ifthen.systems.base",
    "TabularTask": "ifthen.tasks.tabular",
    "TaskError": "ifthen.errors",
    "Trace": "ifthen.explain.trace",
    "Twin": "ifthen.tasks.twins",
    "Verification": "ifthen.explain.verify",
    "XCSF": "ifthen.systems.xcsf.system",
    "as_decision_list": "ifthen.explain.fewer.simplify",
    "best_action_map": "ifthen.explain.best_actions",
    "check_twin": "ifthen.tasks.twins",
    "compact": "ifthen.explain.fewer.compact",
    "diff": "ifthen.explain.diff",
    "env_task": "ifthen.tasks.from_gymnasium",
    "evaluate": "ifthen.rollout.evaluate",
    "explain_page": "ifthen.explain.page.explain_page",
    "frozen_lake": "ifthen.tasks.frozen_lake",
    "ladder": "ifthen.explain.fewer.ladder",
    "load": "ifthen.systems.registry",
    "paper_suite": "ifthen.tasks.frozen_lake",
    "parse_rules": "ifthen.explain.read",
    "policy_values": "ifthen.tasks.solve",
    "prune_by_playing": "ifthen.explain.fewer.played",
    "read_ruleset": "ifthen.explain.read",
    "register_twin": "ifthen.tasks.twins",
    "shortest_decision_list": "ifthen.explain.shortest",
    "simplify": "ifthen.explain.fewer.simplify",
    "task_by_name": "ifthen.tasks.names",
    "trace": "ifthen.explain.trace",
    "twin_step": "ifthen.tasks.twins",
    "value_iteration": "ifthen.tasks.solve",
    "verify": "ifthen.explain.verify",
    "write_pictures": "ifthen.explain.pictures.write",
}
__all__ = [
    "NULL_ACTION",
    "PPLDL",
    "PPLST",
    "XCSF",
    "BestActionMap",
    "DecisionList",
    "EngineError",
    "EnvTask",
    "Evaluation",
    "Explanation",
    "Feature",
    "IfthenError",
    "Ladder",
    "ModelFileError",
    "OutputError",
    "ParameterError",
    "Played",
    "PolicyDiff",
    "PredictionArrayRules",
    "Reading",
    "RuleError",
    "RuleSet",
    "Score",
    "ShortestList",
    "Simplified",
    "Solution",
    "StrengthRules",
    "System",
    "TabularTask",
    "TaskError",
    "Trace",
    "Twin",
    "Verification",
    "as_decision_list",
    "best_action_map",
    "check_twin",
    "compact",
    "diff",
    "env_task",
    "evaluate",
    "explain_page",
    "frozen_lake",
    "ladder",
    "load",
    "paper_suite",
    "parse_rules",
    "policy_values",
    "prune_by_playing",
    "read_ruleset",
    "register_twin",
    "shortest_decision_list",
    "simplify",
    "task_by_name",
    "trace",
    "twin_step",
    "value_iteration",
    "verify",
    "write_pictures",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ifthen' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


gymnasium.register("ifthen/FrozenLake-v0", entry_point="ifthen.tasks.frozen_lake:FrozenLakeXY")
