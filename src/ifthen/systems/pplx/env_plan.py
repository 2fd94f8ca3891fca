"""The plan of PPL-X in an environment: its phases, what their epochs do, and the steps that each may take.

What short plans do otherwise is in `PlanSettings`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

ENOUGH_STEPS = 100_000
"""A plan with fewer steps is short: it cannot compare many lists by playing them."""
BEGINNING, SCRATCH, VALUES, DISTIL, SEARCH = range(5)
"""The phases, as the history numbers them."""
WORDS = ("beginning", "random lists", "action values", "distilling", "tuning")
"""The name of each phase in progress lines."""
SHORTENING, TUNING, DISTILLING, CHOOSING, NOTHING = "shorten", "tune", "distil", "choose", "nothing"
"""An epoch of the search does one of these."""
ROUNDS = (SHORTENING, SHORTENING, TUNING, DISTILLING, DISTILLING) * 3 + (SHORTENING, TUNING, TUNING, CHOOSING)
"""The epochs of the search, in order."""
PARTS = {SHORTENING: 1.0, TUNING: 4.0, DISTILLING: 0.5, CHOOSING: 3.0}
"""The search divides its steps among its epochs in these proportions."""
SHORT_ROUNDS = (DISTILLING,) * 4 + (NOTHING,) * (len(ROUNDS) - 5) + (CHOOSING,)
"""The epochs of the search in short plans, where playing cannot tell many lists apart."""
SHORT_PARTS = {DISTILLING: 1.0, NOTHING: 0.0, CHOOSING: 16.0}
"""In short plans, the search divides its steps among its epochs in these proportions."""
EPOCHS = {SCRATCH: 2, VALUES: 20, DISTIL: 14, SEARCH: len(ROUNDS)}
"""The number of epochs of each phase."""
ALWAYS_PLAYED = {SCRATCH: (1,), VALUES: (0, 19), DISTIL: (0,), SEARCH: (len(ROUNDS) - 1,)}
"""The epochs of each phase that are always played, even when the steps run out."""
SHARES = {SCRATCH: 0.05, VALUES: 0.5, DISTIL: 0.2}
"""Each phase takes at most this share of the plan's steps. The search takes the rest."""
CHEAP_PLAN = 8_000_000
"""The plan's steps in environments whose steps cost next to nothing."""
CHEAP_SCRATCH = 0.125
"""In such environments, evolving random lists takes this share of the plan's steps."""
CHEAP_CHOICE = 10.0
"""In such environments, the last choice gets ten times its usual part of the steps."""
MOST_VALUE_STEPS = 200_000
"""Learning action values takes at most this many steps."""
UPDATES = 200_000
"""A network gets about this many updates while action values are learnt."""
LEAST_SHARE = 0.5
"""An epoch gets at least this share of its planned steps, or it is left out."""
SECONDS = 150
"""Without `steps`, one process plays the plan's steps in about this many seconds."""
MOST_SECONDS = 1200
"""Slow environments may take up to this many seconds."""
FEWEST_EPISODES = 500
"""A plan has at least this many episodes, if they fit into MOST_SECONDS."""
PLANS = (
    *(10_000, 15_000, 20_000, 30_000, 50_000, 70_000, 100_000, 150_000, 200_000, 300_000, 500_000, 700_000),
    *(1_000_000, 1_500_000, 2_000_000, 3_000_000),
)
"""Without `steps`, the plan's steps are one of these numbers."""
MOST_NETWORKS = 5
"""At most this many networks learn action values."""


class PlanSettings(NamedTuple):
    """What depends on whether a plan is short: ORDINARY, SHORT or TAUGHT_SHORT."""

    rounds: tuple[str, ...]
    """The epochs of the search, in order."""
    parts: dict[str, float]
    """The search divides its steps among its epochs in these proportions."""
    cheap_choice: float
    """In environments whose steps cost next to nothing, the last choice gets this many times its part."""
    values_choose: bool
    """Whether values choose the lists that play in the end. Otherwise scores do."""
    sight: float | None
    """Values look ahead this share of an episode, where the environment's own limit counts as its end. None:
    they look as far ahead as the task lets an episode last."""
    least_discount: float
    """The smallest discount factor of action values, unless the task's own is smaller."""
    decay: float
    """Weights shrink by this share of the learning rate with each update."""
    learns_from_scoring: bool
    """Whether the steps of lists that are scored are learnt from, too."""
    learns_from_earlier: bool
    """Whether the network also gets updates for steps that were taken before its phase, or before any step
    told actions apart."""
    saves_steps: bool
    """Whether a round of lists leaves steps to the last choice: it scores few lists, and the network gets few
    updates after it."""
    latest_points: int
    """The first round of lists also begins with this many of the latest steps. They were taken to learn the
    values, mostly by the network. Lists that are fitted at few points do badly elsewhere."""
    latest_weight: float
    """The latest episodes have this weight in the mean length. As policies get better, episodes may become
    longer quickly."""
    long_episode: float
    """Where an episode takes more than this share of the plan's steps, lists are measured for the history at
    the beginning and the end alone."""
    shortens: bool
    """Whether lists count as shortened after the plan."""
    counts_steps: bool
    """Whether a progress bar counts steps, and not epochs, which take from no time to very long."""


ORDINARY = PlanSettings(
    rounds=ROUNDS,
    parts=PARTS,
    cheap_choice=CHEAP_CHOICE,
    values_choose=False,
    sight=None,
    least_discount=0.9,
    decay=0.0,
    learns_from_scoring=False,
    learns_from_earlier=False,
    saves_steps=False,
    latest_points=0,
    latest_weight=0.1,
    long_episode=math.inf,
    shortens=True,
    counts_steps=False,
)
"""The settings of a plan that is not short."""
SHORT = PlanSettings(
    rounds=SHORT_ROUNDS,
    parts=SHORT_PARTS,
    cheap_choice=1.0,
    values_choose=True,
    sight=1 / 3,  # sums of fewer rewards take fewer steps to learn
    least_discount=0.8,
    decay=0.5,  # few steps are learnt from many times over, and networks would learn them by heart
    learns_from_scoring=True,
    learns_from_earlier=True,
    saves_steps=True,
    latest_points=6000,
    latest_weight=0.5,
    long_episode=0.01,
    shortens=False,
    counts_steps=True,
)
"""The settings of a short plan: values decide more, and playing less."""
TAUGHT_SHORT = ORDINARY._replace(
    latest_weight=SHORT.latest_weight,
    long_episode=SHORT.long_episode,
    shortens=SHORT.shortens,
    counts_steps=SHORT.counts_steps,
)
"""The settings of a short plan with a teacher, whose values are good however few the steps are."""


def settings_for(budget: float, taught: bool) -> PlanSettings:
    """Return the settings of a plan of so many steps, with a teacher or without."""
    if budget >= ENOUGH_STEPS:
        return ORDINARY
    return TAUGHT_SHORT if taught else SHORT


class Work(NamedTuple):
    """What an epoch does."""

    phase: int
    """The phase of the plan."""
    phase_epoch: int
    """The number of the epoch in it."""
    rounds: tuple[str, ...]
    """What the epochs of the search do, in order; it begins anew after the last."""

    @property
    def begins_phase(self) -> bool:
        """Whether it is the first epoch of its phase."""
        return self.phase_epoch == 0

    @property
    def ends_phase(self) -> bool:
        """Whether it is the last epoch of its phase."""
        return self.phase_epoch == EPOCHS[self.phase] - 1

    @property
    def activity(self) -> str:
        """What an epoch of the search does; those of other phases do what their phase says."""
        return self.rounds[self._turn] if self.phase == SEARCH else NOTHING

    @property
    def before(self) -> tuple[str, ...]:
        """What the search did since its rounds began."""
        return self.rounds[: self._turn]

    @property
    def needs_steps(self) -> bool:
        """Whether this epoch or a later one learns from the steps that were taken."""
        return self.phase != SEARCH or DISTILLING in self.rounds[self._turn :]

    @property
    def _turn(self) -> int:
        return self.phase_epoch % len(self.rounds)


class Plan(NamedTuple):
    """The epochs of learning."""

    epochs: dict[int, int] = EPOCHS
    """The number of epochs of each phase that is played."""
    cheap: bool = False
    """Whether steps cost next to nothing."""
    taught: bool = False
    """Whether there is a teacher."""

    @property
    def length(self) -> int:
        """The number of epochs in all."""
        return sum(self.epochs.values())

    def phase(self, epoch: int) -> tuple[int, int]:
        """Return the phase of an epoch, and its number there; the last phase goes on after the plan."""
        phase, phase_epoch = BEGINNING, epoch - 1
        for phase, n_epochs in self.epochs.items():
            if epoch == 0 or phase_epoch < n_epochs or phase == max(self.epochs):
                break
            phase_epoch -= n_epochs
        return (phase, phase_epoch) if epoch else (BEGINNING, 0)

    def work(self, epoch: int, budget: float) -> Work:
        """Return what an epoch does, in a plan of so many steps."""
        return Work(*self.phase(epoch), self.settings(budget).rounds)

    def settings(self, budget: float) -> PlanSettings:
        """Return what a plan of so many steps does in its own way."""
        return settings_for(budget, self.taught)

    def networks(self, budget: float) -> int:
        """Return how many networks learn action values; a teacher's take one."""
        if self.taught:
            return 1
        return int(np.clip(UPDATES // min(SHARES[VALUES] * budget, MOST_VALUE_STEPS), 1, MOST_NETWORKS))

    def quota(self, epoch: int, budget: float) -> float:
        """Return the steps that an epoch may take, of so many for the whole plan."""
        settings, shares = self.settings(budget), SHARES
        parts, rounds = settings.parts, settings.rounds
        if self.cheap:
            parts = parts | {CHOOSING: settings.cheap_choice * parts[CHOOSING]}
            shares = SHARES | {SCRATCH: CHEAP_SCRATCH}
        phase, phase_epoch = self.phase(epoch)
        steps = {planned: share * budget for planned, share in shares.items() if planned in self.epochs}
        if VALUES in self.epochs:
            steps[VALUES] = min(steps[VALUES], MOST_VALUE_STEPS)
        if SEARCH not in self.epochs:
            steps[DISTIL] = budget - steps.get(VALUES, 0.0)
        if phase != SEARCH:
            return steps[phase] / EPOCHS[phase]
        search_steps = budget - sum(steps.values())
        activity = rounds[phase_epoch % len(rounds)]
        return search_steps * parts[activity] / sum(parts[planned] for planned in rounds)

    def allowed(self, epoch: int, budget: float, steps_taken: int) -> float:
        """Return the steps that an epoch may take: less than planned where those before it took more.

        Where long episodes took far more, only those in ALWAYS_PLAYED are played. The others get 0 steps.
        """
        planned = [self.quota(later, budget) for later in range(epoch, max(self.length, epoch) + 1)]
        share = (budget - steps_taken) / sum(planned) if epoch <= self.length else 1.0
        phase, phase_epoch = self.phase(epoch)
        if share < LEAST_SHARE and phase_epoch not in ALWAYS_PLAYED[phase]:
            return 0.0
        return planned[0] * min(1.0, max(LEAST_SHARE, share))


def suited_plan(speed: float, length: float) -> int:
    """Return the steps of a plan, given the steps of one process in a second, and those of an episode."""
    steps = max(SECONDS * speed, min(FEWEST_EPISODES * length, MOST_SECONDS * speed), PLANS[0])
    return max(plan for plan in PLANS if plan <= steps)
