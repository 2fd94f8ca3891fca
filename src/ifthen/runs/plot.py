"""One function for every picture: of a learning curve, a policy, its rules, an episode, a front."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from ifthen.environments.make import TaskLike
from ifthen.errors import ParameterError, nearest
from ifthen.explanation.pictures.write_pictures import drawings
from ifthen.rules.ruleset import RuleSet
from ifthen.runs.run_report import learning_curve
from ifthen.simulate.evaluate import evaluations
from ifthen.simulate.scope import policy_and_task
from ifthen.systems.front import Front
from ifthen.systems.system import System

LEARNING = "learning"


def plot(shown: Any, what: str | None = None, task: TaskLike | None = None) -> Figure:
    """Return a picture as a Matplotlib figure, which notebooks show and `savefig` writes.

    Args:
        shown: a trained system, a ruleset, or a front.
        what: "learning", "policy", "usage", "episode", "slices", and on grids "who-decides", "density",
            "values", "advantages" or "visits". Where None, the learning curve of a system, and the policy of
            a ruleset in a task.
        task: the task of a ruleset; a system's own where None.
    """
    if isinstance(shown, Front):
        return shown.figure()
    ruleset = getattr(shown, "ruleset", shown)
    if not isinstance(ruleset, RuleSet):
        raise ParameterError(f"plot draws trained systems, rulesets and fronts, not {type(shown).__name__}.")
    pictures = drawings(*policy_and_task(shown, task))
    if isinstance(shown, System):
        noise, threads = shown.parameters.noise, shown.threads
        pictures = {
            LEARNING: lambda: learning_curve(shown, evaluations(ruleset, shown.task, noise, threads)),
            **pictures,
        }
    name = next(iter(pictures)) if what is None else what
    if name not in pictures:
        raise ParameterError(f"there is no picture {name!r} of this.{nearest(name, pictures)}")
    return pictures[name]()
