"""How good is a policy? Exactly and state by state in a table; measured by playing in an environment."""

from __future__ import annotations

import numpy as np

from ifthen.digits import mean_in_words, plural
from ifthen.rules.arrays import Ints
from ifthen.simulate.evaluate import evaluate
from ifthen.simulate.scope import visited_states
from ifthen.simulate.simulator import Evaluation
from ifthen.simulate.table_simulator import optimal_performance
from ifthen.tasks.solve import TIE, value_iteration
from ifthen.verification.case import Case
from ifthen.verification.findings import (
    Finding,
    Result,
    all_of,
    number,
    part,
    sentence,
    severity,
    share_in_words,
    some_of,
    vector_in_words,
)
from ifthen.verification.graph import Model


def alike(case: Case) -> tuple[Finding, ...]:
    """Return the decision states with equal features: no rule can tell them apart."""
    model = case.model
    _, first_index, number_of, counts = np.unique(
        model.task.dynamics.states, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    shared = np.flatnonzero(counts[number_of.reshape(-1)] > 1)
    if not len(shared):
        return ()
    example = int(first_index[counts > 1][0])
    text = (
        f"{part(len(shared), len(number_of), 'decision state')} have the features of another, such as "
        f"({model.state(example)}). No rule can tell them apart, and a claim about such features may hold in "
        "one of the states only."
    )
    return (model.finding("alike", text, example, {"states": model.numbers(shared)}),)


def performance(case: Case) -> Result:
    """The exact performance; in an environment the mean return over 100 test seeds."""
    return _measured(case, "performance", "test seeds", case.played_seeds)


def exact_performance(case: Case) -> Result:
    """The exact performance, beside the optimum."""
    evaluation = evaluate(case.ruleset, case.model.task, "exact")
    fraction, optimum = evaluation.fraction, optimal_performance(case.model.task)
    share = "the optimum is " if fraction is None else f"{share_in_words(fraction)} of the optimum, which is "
    failed = ": the worst possible, because a state without a rule can be met" if evaluation.failed else ""
    hint = "" if fraction is None else f" ({share_in_words(fraction)} of the optimum)"
    why = f"the exact performance is {number(evaluation.performance)}{failed}"
    data = {
        "performance": evaluation.performance,
        "optimum": optimum,
        "short_of_optimum": optimum - evaluation.performance,
        "fraction": fraction,
        "failed": evaluation.failed,
    }
    knows = " A policy that knows the state reaches that; rules see less." if case.model.task.aliased else ""
    text, about = f"{sentence(why)}; {share}{number(optimum)}.{knows}", ("performance", "fraction")
    finding = Finding("performance", severity(evaluation.failed), text, data=data, about=about)
    return Result(evaluation.performance, why + hint, (finding,))


def fraction_of_optimum(case: Case) -> Result:
    """The exact performance as a fraction of the optimum."""
    fraction = evaluate(case.ruleset, case.model.task, "exact").fraction
    why = "no fraction of the optimum where returns can be negative or the optimum is not positive"
    if fraction is not None:
        why = f"the performance is {number(fraction)} of the optimum"
    return Result(fraction, why)


def optimal(case: Case) -> Result:
    """The action in every decision state is optimal."""
    model = case.model
    if model.task.gamma == 1:
        return _optimal_over_steps(model)
    task, table = model.task, model.table
    states, best = task.decision_states, value_iteration(task)
    acts = table >= 0
    is_optimal = acts & best.optimal_actions[states, table]
    worse = np.flatnonzero(acts & ~is_optimal)
    if is_optimal.all():
        every_state = all_of(len(states), "decision state", "every one of the")
        return Result(True, f"the action in {every_state} is optimal")
    none = int((~acts).sum())
    missing = f", and {none:,} {'has' if none == 1 else 'have'} none" if none else ""
    why = f"the action is not optimal in {part(len(worse), len(states), 'decision state')}{missing}"
    return Result(False, why, (_costs(model, worse),) if len(worse) else ())


def _optimal_over_steps(model: Model) -> Result:
    """Judge a policy where γ = 1 by its value over all steps: which actions are best changes with time."""
    task = model.task
    best = value_iteration(task).values[task.decision_states]
    behind = best - model.values
    # Where a state without a rule can be met the value is NaN, which counts as worse.
    worse = np.flatnonzero(~(behind <= TIE * np.maximum(1.0, np.abs(best))))
    horizon = f"over {task.t_max:,} steps (γ = 1)"
    if not len(worse):
        every_state = all_of(len(best), "decision state", "every one of the")
        return Result(True, f"from {every_state} the policy has the optimal value {horizon}")
    states = part(len(worse), len(best), "decision state")
    why = f"the policy has less than the optimal value {horizon} from {states}"
    worst = int(worse[np.nan_to_num(behind[worse], nan=np.inf).argmax()])
    short = f"it is {number(float(behind[worst]))} short"
    if np.isnan(behind[worst]):
        short = "it has no value, as a state without a rule can be met"
    text = (
        f"{sentence(why)}; most from ({model.state(worst)}), where {short}. The best policy may change its "
        "actions as steps run out, so perhaps no ruleset reaches it."
    )
    data = {"count": len(worse), "states": model.numbers(worse)}
    return Result(False, why, (model.finding("not-optimal", text, worst, data),))


def _costs(model: Model, worse: Ints) -> Finding:
    """Return the states whose action is not optimal, the most costly first."""
    task, table = model.task, model.table
    best, states = value_iteration(task), task.decision_states[worse]
    lost = best.values[states] - best.action_values[states, table[worse]]
    behind = best.values[states] - model.values[worse]
    order = np.lexsort((worse, -lost))
    names = task.action_names
    listed = [
        {
            "state": int(states[i]),
            "vector": model.scope.vector(int(worse[i])),
            "action": names[table[worse[i]]],
            "optimal_actions": [names[a] for a in np.flatnonzero(best.optimal_actions[states[i]])],
            "cost": float(lost[i]),
            "behind_optimum": None if np.isnan(behind[i]) else float(behind[i]),
            "visited": bool(model.reach.reached[worse[i]]),
        }
        for i in order
    ]
    words = [
        f"in ({model.state(int(worse[i]))}) {entry['action']} costs {number(entry['cost'])} "
        f"({' or '.join(entry['optimal_actions'])} is best)"
        for i, entry in zip(order[:10], listed[:10], strict=True)
    ]
    text = (
        f"{plural(len(worse), 'action')} {'is' if len(worse) == 1 else 'are'} not optimal"
        f"{model.visited_in_words(worse)}. The costliest: {some_of(words, len(worse))}."
    )
    data = {"count": len(worse), "states": listed}
    return model.finding("not-optimal", text, int(worse[order[0]]), data)


def training_performance(case: Case) -> Result:
    """The mean return over the training seeds of an environment, on which the rules were selected."""
    return _measured(case, "training-performance", "training seeds", case.environment.z)


def _measured(case: Case, kind: str, seed_words: str, seeds: Ints) -> Result:
    """Return the mean return over episodes from some seeds."""
    evaluation = evaluate(case.ruleset, case.environment, threads=1, seeds=seeds)
    mean, witness = mean_in_words(evaluation.performance, evaluation.interval), None
    why = f"the mean return over {plural(evaluation.episodes, 'episode')} from {seed_words} is {mean}"
    if evaluation.failed:
        why = f"{mean}, the floor, because a state without a rule was visited from {seed_words}"
    text = f"{sentence(why)}{_spread(evaluation)}."
    if evaluation.failed:
        scope = visited_states(case.ruleset, case.environment, seeds)
        witness, rules = scope.vector(int((scope.deciders < 0).argmax())), case.ruleset
        text += f" Such a state: {vector_in_words(witness, rules.observed_features, rules.tested)}."
    names = ("performance", "least", "most", "episodes", "steps", "truncated_share", "failed_share")
    data = {**{name: getattr(evaluation, name) for name in names}, "interval": evaluation.interval}
    finding = Finding(kind, severity(evaluation.failed), text, witness=witness, data=data)
    return Result(evaluation.performance, why, (finding,), evaluation.interval)


def _spread(evaluation: Evaluation) -> str:
    """Return the range of returns, and how many episodes `t_max` or a limit of the environment's own cut."""
    assert evaluation.failed_share is not None
    assert evaluation.least is not None
    assert evaluation.most is not None
    if evaluation.failed:
        n_failed = round(evaluation.failed_share * evaluation.episodes)
        return f" in {plural(n_failed, 'episode')} of {evaluation.episodes:,}"
    truncated = round(evaluation.truncated_share * evaluation.episodes)
    length = evaluation.steps / evaluation.episodes
    last_step = f"step {length:,.0f}" if length == round(length) else f"step {length:,.0f} on average"
    if truncated < evaluation.episodes:
        last_step = f"step {evaluation.longest:,} at the latest"
    how_many = "all of them" if truncated == evaluation.episodes else f"{truncated:,} of them"
    cut = f"; a time limit ended {how_many} at {last_step}: nothing is known of later steps"
    cut = cut if truncated else ""
    return (
        f", from {number(evaluation.least)} to {number(evaluation.most)}"
        if evaluation.least < evaluation.most
        else ""
    ) + cut


def never_decided(case: Case) -> tuple[Finding, ...]:
    """Return the rules that decide in none of the visited states."""
    task, ruleset = case.environment, case.ruleset
    scope = visited_states(ruleset, task, np.concatenate([task.z, case.played_seeds]))
    never = tuple(np.flatnonzero(scope.counts == 0).tolist())
    if not never:
        return ()
    rules = ", ".join(str(r + 1) for r in never[:20]) + (", …" if len(never) > 20 else "")
    text = (
        f"{plural(len(never), 'rule')} of {len(ruleset):,} decided in none of {scope.words} from "
        f"training and test seeds: {rules}."
    )
    data = {"states": len(scope), "episodes": scope.episodes, "decided": scope.counts.tolist()}
    return (Finding("never-met", "note", text, never, data=data),)
