"""Reinforcement-learning policies people can read: short lists of IF-THEN rules."""

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
    from ifthen.explain.prune import compact
    from ifthen.inference.decision_list import DecisionList
    from ifthen.inference.prediction_array import PredictionArrayRules
    from ifthen.inference.strength import StrengthRules
    from ifthen.rollout.evaluate import Evaluation, evaluate
    from ifthen.rules.features import Feature
    from ifthen.rules.ruleset import NULL_ACTION, RuleSet
    from ifthen.systems.base import System
    from ifthen.systems.ppl_dl import PPLDL
    from ifthen.systems.ppl_st import PPLST
    from ifthen.systems.registry import load
    from ifthen.systems.xcsf.system import XCSF
    from ifthen.tasks.frozen_lake import frozen_lake, paper_suite
    from ifthen.tasks.names import task_by_name
    from ifthen.tasks.solve import Solution, policy_values, value_iteration
    from ifthen.tasks.tabular import TabularTask

__version__ = "0.1.0"

# Public names are imported on first use: `ifthen --help` must not wait for the compiler.
_HOME = {
    "BestActionMap": "ifthen.explain.best_actions",
    "DecisionList": "ifthen.inference.decision_list",
    "EngineError": "ifthen.errors",
    "Evaluation": "ifthen.rollout.evaluate",
    "Feature": "ifthen.rules.features",
    "IfthenError": "ifthen.errors",
    "ModelFileError": "ifthen.errors",
    "NULL_ACTION": "ifthen.rules.ruleset",
    "OutputError": "ifthen.errors",
    "PPLDL": "ifthen.systems.ppl_dl",
    "PPLST": "ifthen.systems.ppl_st",
    "ParameterError": "ifthen.errors",
    "PredictionArrayRules": "ifthen.inference.prediction_array",
    "RuleError": "ifthen.errors",
    "RuleSet": "ifthen.rules.ruleset",
    "Solution": "ifthen.tasks.solve",
    "StrengthRules": "ifthen.inference.strength",
    "System": "ifthen.systems.base",
    "TabularTask": "ifthen.tasks.tabular",
    "TaskError": "ifthen.errors",
    "XCSF": "ifthen.systems.xcsf.system",
    "best_action_map": "ifthen.explain.best_actions",
    "compact": "ifthen.explain.prune",
    "evaluate": "ifthen.rollout.evaluate",
    "frozen_lake": "ifthen.tasks.frozen_lake",
    "load": "ifthen.systems.registry",
    "paper_suite": "ifthen.tasks.frozen_lake",
    "policy_values": "ifthen.tasks.solve",
    "task_by_name": "ifthen.tasks.names",
    "value_iteration": "ifthen.tasks.solve",
}
__all__ = [
    "NULL_ACTION",
    "PPLDL",
    "PPLST",
    "XCSF",
    "BestActionMap",
    "DecisionList",
    "EngineError",
    "Evaluation",
    "Feature",
    "IfthenError",
    "ModelFileError",
    "OutputError",
    "ParameterError",
    "PredictionArrayRules",
    "RuleError",
    "RuleSet",
    "Solution",
    "StrengthRules",
    "System",
    "TabularTask",
    "TaskError",
    "best_action_map",
    "compact",
    "evaluate",
    "frozen_lake",
    "load",
    "paper_suite",
    "policy_values",
    "task_by_name",
    "value_iteration",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ifthen' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


gymnasium.register("ifthen/FrozenLake-v0", entry_point="ifthen.tasks.frozen_lake:FrozenLakeXY")
