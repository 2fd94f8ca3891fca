"""Learning from a teacher: where it goes, and what the actions of its policy are worth.

A teacher that says what actions are worth needs no learning. Of one that only acts, the values are learnt:
it plays with random actions mixed in, and in what follows its own action is taken, not the best one. So the
values are those of the teacher's policy (expected SARSA on n steps).
"""

from __future__ import annotations

import numpy as np

from ifthen.systems.pplx import values
from ifthen.systems.pplx.bench import Bench
from ifthen.systems.pplx.knowledge import Knowledge
from ifthen.systems.pplx.q_network import train
from ifthen.systems.pplx.teacher import Teacher

RANDOM = (0.05, 0.15, 0.4)
"""How often a random action begins, in turn: mistakes must be seen to be valued."""


def learn_teachers_values(
    bench: Bench, known: Knowledge, teacher: Teacher, place: int, epochs: int
) -> tuple[Knowledge, float]:
    """Let a teacher play an epoch, and learn what the actions are worth; return the mean error too.

    Args:
        bench: plays.
        known: what is known.
        teacher: plays, and says what follows.
        place: the number of the epoch in the phase.
        epochs: how many the phase has.
    """
    nets, errors, gamma, turn = known.nets.copy(), list[float](), values.discount(bench.task), place
    per_step = min(values.MOST_PER_STEP, max(1.0, values.UPDATES / (bench.quota * epochs)))
    while bench.left > 0 or not errors:
        done, before = (place + bench.steps / bench.quota) / epochs, bench.steps
        k = bench.affordable(bench.left / 2, known.length, 1, values.TOGETHER)
        key = bench.key("explore", before)
        known = known.told(bench.explore(teacher, RANDOM[turn % len(RANDOM)], bench.seeds(k), key))
        if place == 0 and not errors:
            known = known._replace(scale=values.scale_of(known, gamma))
        rate = values.FIRST_RATE + (values.LAST_RATE - values.FIRST_RATE) * min(1.0, done)
        own = known.memory, len(known.moves), known.scaling, gamma, rate
        updates = int(per_step * (bench.steps - before))
        advice = teacher.advice(known.points)
        error = train(bench.key("train", before), *own, updates, bench.task.n_actions, nets[:4], advice)
        errors.append(float(error))
        turn += 1
    nets[-1] = nets[1]
    return known._replace(nets=nets), float(np.mean(errors))
