"""How long a study will take and how much it will play, from a few epochs of each system on each task."""

from __future__ import annotations

import time
from typing import NamedTuple

from ifthen.study.study_plan import StudyPlan, Trial

CELL_SECONDS = 0.3
"""A cell, one system on one task, is tried for at most this long after its first two epochs."""
STUDY_SECONDS = 3.0
"""All cells of a study together are tried for at most this long after their first two epochs."""
SHARE = 10
"""One epoch in this many is run, where it is fast enough."""


class Estimate(NamedTuple):
    """What a trial will take, about."""

    seconds: float
    episodes: float


def calibrate(plan: StudyPlan, system: str, task: str) -> Estimate:
    """Return about how long a trial takes on this machine, once compiled, and how many episodes it plays.

    The first epochs of a trial are not like the later ones, so a tenth of it is run, or as much as fits.
    """
    trial = Trial(system, task, plan.first_seed)
    learner = plan.make_system(trial)
    first_episodes = int(learner.learn(epochs=0).now.records[-1]["episodes"])
    first_record = learner.learn(epochs=1).now.records[-1]  # compiles, or loads what was compiled
    began = time.perf_counter()
    n_epochs = max(1, plan.epochs // SHARE)
    seconds = min(CELL_SECONDS, STUDY_SECONDS / (len(plan.systems) * len(plan.tasks_by_name())))
    learner.learn(epochs=n_epochs, callback=lambda _: time.perf_counter() - began < seconds)
    scale = plan.epochs / (learner.epoch - int(first_record["epoch"]))
    episodes = int(learner.now.records[-1]["episodes"]) - int(first_record["episodes"])
    return Estimate((time.perf_counter() - began) * scale, first_episodes + episodes * scale)
