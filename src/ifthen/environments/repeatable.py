"""Does an environment do what training needs? A few short episodes with random actions tell.

Policies are compared on the same episodes, so an episode must depend on its reset seed and its actions alone:
not on chance, not on earlier episodes, not on other environments in the same process. Training works without
that too, but two runs with one seed may then differ, and scores may depend on what was played before.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from ifthen.errors import TaskError
from ifthen.tasks.env_like import AnyEnv
from ifthen.tasks.flatten import FlatSpace
from ifthen.tasks.probe import RandomStep, random_steps
from ifthen.tasks.wrapper_statistics import restore_statistics

STEPS = 50
"""This many steps of each episode are compared."""
LEAST_SECONDS = 5.0
"""Two environments that are played in turns may always take this many seconds."""
PATIENCE = 20.0
"""Besides, they may take this many times as long as one environment alone."""
Steps = list[RandomStep]


@dataclass(frozen=True)
class Repeatability:
    """What a few episodes of an environment showed.

    Args:
        repeats: whether the same seed and actions give the same episode, in the same environment.
        alike: whether they do so in another environment of the same kind; None if there is only one.
        apart: whether two environments can be played in turns; None if that was not tried.
    """

    repeats: bool
    alike: bool | None
    apart: bool | None

    @property
    def notes(self) -> list[str]:
        """What a user should know, in sentences."""
        if self.apart is False:
            return [
                "two environments in one process disturb each other, so each process plays one of them, one "
                "episode at a time (lanes=1). This is slower."
            ]
        if not self.repeats and self.alike:
            return [
                "an episode depends on the episodes before it: the same seed and actions give another one. "
                "Scores depend on what was played before. Let reset(seed=…) put everything back."
            ]
        if not self.repeats:
            return [
                "the same seed and actions give different episodes, so that two runs with one seed differ. "
                "Draw all random numbers from self.np_random, after super().reset(seed=seed)."
            ]
        if self.alike is False:
            return [
                "two environments give different episodes for the same seed and actions: something is drawn "
                "when an environment is made. Two runs with one seed may differ."
            ]
        return []


def repeatability_of(make: Callable[[], Any], leave_out: Sequence[str] = ()) -> Repeatability:
    """Play short episodes in two environments, alone and in turns, and compare them.

    Args:
        make: makes an environment; it may return the same one again.
        leave_out: parts of observations that rules do not see.
    """
    with ExitStack() as stack:
        first_env = stack.enter_context(closing(make()))
        restore_statistics(first_env)
        flat = FlatSpace.of(first_env.observation_space, leave_out)
        start = time.perf_counter()
        reference, *replays = (episode(first_env, flat, number) for number in (0, 0, 1, 0))
        rate = (len(reference) + sum(map(len, replays))) / max(time.perf_counter() - start, 1e-9)
        repeats = same_episodes(reference, replays[0]) and same_episodes(reference, replays[2])
        try:
            second_env = stack.enter_context(closing(make()))
            restore_statistics(second_env)
            if getattr(second_env, "env", second_env) is getattr(first_env, "env", first_env):
                return Repeatability(repeats, None, None)
            alike = same_episodes(reference, episode(second_env, flat, 0))
            if not (repeats and alike):
                return Repeatability(repeats, alike, None)
            turns = zip(random_steps(first_env, flat, 0), random_steps(second_env, flat, 0), strict=True)
            with time_limit(LEAST_SECONDS + PATIENCE * len(reference) / rate):
                steps_in_turns = list(islice(turns, STEPS + 1))
            apart = all(same_episodes(reference, [pair[i] for pair in steps_in_turns]) for i in (0, 1))
        except (TaskError, ValueError):  # the second cannot be made or played beside the first, or ends early
            return Repeatability(repeats, None, False)
        return Repeatability(repeats, alike, apart)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TaskError in code that takes longer, as a simulator may that another one has confused.

    Only the main thread can be interrupted, and not on Windows: elsewhere there is no limit.
    """
    usable = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not usable or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    def stop(*_: Any) -> None:
        raise TaskError(f"the environment took longer than {seconds:.0f} s.")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def episode(env: AnyEnv, flat: FlatSpace, number: int) -> Steps:
    """Return the first steps of a random episode."""
    return list(islice(random_steps(env, flat, number), STEPS + 1))


def same_episodes(left: Steps, right: Steps) -> bool:
    """Return whether two episodes are the same to the last bit."""
    return len(left) == len(right) and all(
        a[1:] == b[1:] and np.array_equal(a.row, b.row) for a, b in zip(left, right, strict=True)
    )
