"""How long a study will take, guessed from a few epochs of each system on each task."""

from __future__ import annotations

import time

from ifthen.study.plan import StudyPlan, Trial

LONG_ENOUGH = 0.3
SHARE = 10


def seconds_per_trial(plan: StudyPlan, system: str, task: str) -> float:
    """Return about how many seconds a trial takes on this machine, once compiled.

    The first epochs of a trial are not like the later ones, so a tenth of it is run, or as much as fits.
    """
    trial = Trial(system, task, plan.first_seed)
    plan.make_system(trial).learn(1)  # compiles, or loads what was compiled
    learner, began = plan.make_system(trial), time.perf_counter()
    most = max(1, plan.epochs // SHARE)
    learner.learn(most, callback=lambda _: time.perf_counter() - began < LONG_ENOUGH)
    return (time.perf_counter() - began) * plan.epochs / learner.epoch
