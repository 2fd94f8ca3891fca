"""Which settings to try next: proposals of Optuna's TPE, as a function of what was tried.

Optuna has no memory here: its study is made anew from what was tried for every proposal. So a proposal
depends on the seed, its number and the trials before alone, and a tuning that was killed goes on as if it
had not been.

Bergstra, Bardenet, Bengio and Kégl, "Algorithms for hyper-parameter optimization", 2011.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ifthen.errors import EngineError
from ifthen.randomness import stream
from ifthen.tuning.early_stopping import SHARES, Curve
from ifthen.tuning.search_space import Dimension, Space

State = Literal["finished", "pruned", "failed", "running"]
RANDOM = 10
"""The first proposals are random."""
LEAST_FOR_IMPORTANCE = 4
"""Importance needs this many finished trials."""


@dataclass(frozen=True)
class Tried:
    """Settings that were tried, or are being tried."""

    number: int
    parameters: Mapping[str, Any]
    state: State
    score: float | None = None
    curve: Curve = field(default_factory=dict)
    steps: int = 0
    rules: int = 0


def proposal(space: Space, tried: Sequence[Tried], seed: int, number: int) -> dict[str, Any]:
    """Return the settings to try next.

    Args:
        space: what is searched.
        tried: what was tried before, and what is being tried now.
        seed: the tuning's.
        number: of the proposal.
    """
    optuna = _optuna()
    sampler = optuna.samplers.TPESampler(
        n_startup_trials=RANDOM,
        multivariate=True,
        constant_liar=True,
        seed=int(stream(seed, "propose", number)) % 2**32,
    )
    suggested = optuna_study(space, tried, sampler).ask(_distributions(space)).params
    return {name: _from_optuna(space[name], suggested[name]) for name in space}


def importance(space: Space, tried: Sequence[Tried]) -> dict[str, float]:
    """Return how much each parameter matters, most important first; shares add up to 1.

    By PED-ANOVA (Watanabe, Bansal and Hutter 2023), on trials that were not pruned. Nothing where too few
    have finished, or all score the same.
    """
    optuna = _optuna()
    finished = [trial for trial in tried if trial.state == "finished"]
    if len(finished) < LEAST_FOR_IMPORTANCE or len({trial.score for trial in finished}) == 1:
        return {}
    evaluator = optuna.importance.PedAnovaImportanceEvaluator()
    importances = optuna.importance.get_param_importances(optuna_study(space, finished), evaluator=evaluator)
    return {str(name): float(share) for name, share in importances.items()}


def optuna_study(space: Space, tried: Sequence[Tried], sampler: Any = None) -> Any:
    """Return an Optuna study, in memory, with what was tried; settings outside of the space are left out."""
    optuna = _optuna()
    states = optuna.trial.TrialState
    trial_states = {"finished": states.COMPLETE, "pruned": states.PRUNED, "running": states.RUNNING}
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for trial in tried:
        if trial.state != "failed" and inside(space, trial.parameters):
            optuna_trial = optuna.trial.create_trial(
                state=trial_states[trial.state],
                params={name: _to_optuna(space[name], trial.parameters[name]) for name in space},
                distributions=_distributions(space),
                value=trial.score if trial.state == "finished" else None,
                intermediate_values={SHARES.index(share): value for share, value in trial.curve.items()},
                user_attrs={"number": trial.number},
            )
            study.add_trial(optuna_trial)
    return study


def inside(space: Space, parameters: Mapping[str, Any]) -> bool:
    """Return whether settings give every searched parameter a value of the space."""
    return all(name in parameters and dimension.has(parameters[name]) for name, dimension in space.items())


def _distributions(space: Space) -> dict[str, Any]:
    return {name: _distribution(dimension) for name, dimension in space.items()}


def _distribution(dimension: Dimension) -> Any:
    kinds, search = _optuna().distributions, dimension.search
    if search.choices:
        return kinds.CategoricalDistribution(search.choices)
    if dimension.integer:
        lowest, highest = -(-int(search.low) // search.multiple), int(search.high) // search.multiple
        return kinds.IntDistribution(lowest, highest, log=search.log)
    return kinds.FloatDistribution(search.low, search.high, log=search.log)


def _to_optuna(dimension: Dimension, value: Any) -> Any:
    return value // dimension.search.multiple if dimension.integer and not dimension.search.choices else value


def _from_optuna(dimension: Dimension, value: Any) -> Any:
    return (
        value * dimension.search.multiple
        if dimension.integer and not dimension.search.choices
        else dimension.readable(value)
    )


def check_optuna() -> None:
    """Raise where Optuna is not installed."""
    _optuna()


def _optuna() -> Any:
    """Return the package `optuna`, which is slow to import and not always there."""
    try:
        import optuna
    except ImportError:
        raise EngineError("tuning needs the package optuna: pip install optuna.") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
