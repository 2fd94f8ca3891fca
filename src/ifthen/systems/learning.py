"""From epoch to epoch: a system's state, when learning stops, what is called and told on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ifthen.checks import whole_number
from ifthen.errors import ParameterError, warn
from ifthen.systems.records import Record, Records

if TYPE_CHECKING:
    from ifthen.systems.system import System

Population = Any
"""A system's own NamedTuple of arrays."""
EPOCH_LIMIT = 10_000_000
STEP_LIMIT = 10**12
NEVER = 2**62
Callback = Callable[["System"], bool | None]


class Moment(NamedTuple):
    """A system's whole state after an epoch; learning replaces it at once, so an interrupt cannot tear it."""

    epoch: int
    population: Population
    records: Records

    def followed_by(self, population: Population, record: Record) -> Moment:
        """Return the state that learning leads to."""
        return Moment(int(record["epoch"]), population, self.records.followed_by(record))


class Goal(NamedTuple):
    """When learning stops: at a total number of epochs, steps or episodes."""

    unit: Literal["epochs", "steps", "episodes"]
    target: int

    def count(self, record: Record) -> int:
        """Return the number of epochs, steps or episodes up to a row of the history."""
        return int(record["epoch" if self.unit == "epochs" else self.unit])

    def reached(self, record: Record) -> bool:
        """Return whether a row of the history is where to stop."""
        return self.count(record) >= self.target

    def limit(self, unit: str) -> int:
        """Return the limit on steps or on episodes."""
        return self.target if unit == self.unit else NEVER


def checked_goal(
    bare: Sequence[int], lengths: Mapping[str, int | None], default_epochs: int, now: Moment | None
) -> Goal:
    """Return when to stop, or raise where that is no count, or more than one.

    Args:
        bare: numbers without a name, which raise.
        lengths: how many more epochs, steps, episodes or total_timesteps; None where not asked for.
        default_epochs: how many more epochs where nothing is asked for.
        now: the state that learning goes on from.
    """
    if bare:
        number = bare[0]
        raise ParameterError(
            f"learn({number}) could mean learn(epochs={number}), learn(steps={number}), learn(episodes="
            f"{number}) or, as in Stable-Baselines3, learn(total_timesteps={number}): say which."
        )
    named = {name: number for name, number in lengths.items() if number is not None} or {
        "epochs": default_epochs
    }
    if len(named) > 1:
        synonym = " (total_timesteps is another word for steps)" if "total_timesteps" in named else ""
        raise ParameterError(f"learn takes one of epochs, steps and episodes, not {named}{synonym}.")
    ((name, number),) = named.items()
    unit: Any = "steps" if name == "total_timesteps" else name
    n_more = whole_number(name, number, 0, EPOCH_LIMIT if unit == "epochs" else STEP_LIMIT)
    goal = Goal(unit, n_more)
    return goal if now is None else Goal(unit, n_more + goal.count(now.records[-1]))


def as_one(callbacks: Callback | Sequence[Callback] | None) -> Callback:
    """Return one callback that calls all of those given, and stops learning where any of them does."""
    as_list = callbacks if isinstance(callbacks, (list, tuple)) else [callbacks]
    functions: list[Any] = [] if callbacks is None else list(as_list)
    for callback in functions:
        if not callable(callback) or isinstance(callback, type):
            raise ParameterError(
                f"callback must be a function that takes the system, or a list of them, not {callback!r}."
            )

    def every(system: System) -> bool:
        answers = [callback(system) for callback in functions]  # all of them, also where one stops learning
        return not any(answer is False for answer in answers)

    return every


def warn_if_over(system: System, goal: Goal) -> None:
    """Say so if a goal in steps or episodes leaves nothing to learn: epoch 0 alone has reached it."""
    n_taken = goal.count(system.now.records[-1])
    if len(system.now.records) == 1 and 0 < goal.target <= n_taken and system.reached(goal):
        size = ", or a smaller pop_size," if hasattr(system.parameters, "pop_size") else ""
        message = (
            f"nothing was learnt. The beginning alone took {n_taken:,} {goal.unit}, and {goal.target:,} "
            f"were asked for: give {10 * n_taken:,} or more, or epochs in place of {goal.unit}. Fewer "
            f"episodes of the task{size} make it shorter."
        )
        warn(message)


def progress_line(system: System, goal: Goal) -> str:
    """Return how far a system is after every tenth of the way to a goal; "" in between."""
    n_before, n_done = (goal.count(record) for record in system.now.records[-2:])
    interval = max(1, goal.target // 10)
    if n_done // interval == n_before // interval:
        return ""
    epoch = f"{system.epoch}/{goal.target}" if goal.unit == "epochs" else str(system.epoch)
    steps = f"{system.num_timesteps:,}" + (f" of {goal.target:,}" if goal.unit == "steps" else "")
    return f"epoch {epoch}, {steps} steps, {system.watched_in_words}"
