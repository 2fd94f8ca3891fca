"""The dossier of a policy: all that a reviewer asks, on one page that needs nothing else.

It computes nothing of its own. It calls what the commands call, and says which command repeats each part.
"""

from __future__ import annotations

import platform
import shlex
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ifthen.checks import whole_number
from ifthen.digits import plural, worth_showing
from ifthen.environments.make import TaskLike
from ifthen.explanation.behaviour import Behaviour, behaviour
from ifthen.explanation.pictures.write_pictures import policy_picture
from ifthen.explanation.reading import Reading, read_rules, readable
from ifthen.explanation.regions import ActionRegions, action_regions
from ifthen.exports.data import to_json
from ifthen.exports.parts import rendered
from ifthen.notebook import Shown
from ifthen.pages.answers import Answer, answers
from ifthen.pages.how_found import how_found, own_parameters
from ifthen.pages.in_print import neat, printed_exactly, strength_in_units
from ifthen.pages.report_page import (
    SOURCES,
    front_drawn,
    inline_svg,
    measured_rows,
    sources_of,
    task_in_words,
)
from ifthen.provenance import versions
from ifthen.robustness.stress import Stress, stress
from ifthen.robustness.worst_start import WorstStarts, worst_starts
from ifthen.rules.ruleset import PolicyLike, RuleSet
from ifthen.rules.text.constraint_text import is_about_behaviour, requirements_in
from ifthen.simulate.evaluate import evaluations
from ifthen.simulate.scope import policy_and_task
from ifthen.simulate.simulator import Evaluation
from ifthen.store import sha256_of_text
from ifthen.systems.front import Front
from ifthen.systems.system import System
from ifthen.tasks.task import Noise, Task
from ifthen.verification.behaviour_requirement import behaviour_in
from ifthen.verification.verification import LEGEND, MOST_EPISODES, Verification, verify

EPISODES, QUICK_EPISODES = 100, 20
INDENTED: dict[str, Any] = {"initial_indent": "  ", "subsequent_indent": "    ", "break_long_words": False}
PRINTED_FRONT = (4.6, 1.7)
"""Width and height of the drawing of a front, in inches: it stays with its table on a printed page."""
PLAYED = ("Performance", "Behaviour", "Robustness", "Worst starts")
"""The parts that need a task."""


@dataclass(frozen=True, eq=False, repr=False)
class Dossier(Shown):
    """What was found about a policy.

    Args:
        title: how the policy is called.
        purpose: what it is for, in the user's words; "" where nothing was said.
        ruleset: its rules.
        task: its task; None where it is not known.
        reading: the rules in words.
        verification: what holds, with the requirements.
        measured: how well it does, by measurement.
        regions: when it takes each action.
        behaviour: how it behaves.
        stress: how it does under disturbances.
        worst: its worst starts.
        front: the best policy of each size.
        commands: the command that repeats each part, by the part's name.
        left_out: why a part is missing, by its name.
        origin: where the policy comes from: rows of a name and a text.
        shield: how many rules at the top come from requirements given to training.
        shield_words: the same in words; "" where training was given none.
        learner: the system that has learnt the rules; None where it is not known.
        settings: the settings of the run, as its file says them; "" where there are none.
    """

    title: str
    purpose: str
    ruleset: RuleSet
    task: Task | None
    reading: Reading
    verification: Verification
    measured: Mapping[str, Evaluation]
    regions: ActionRegions
    behaviour: Behaviour | None
    stress: Stress | None
    worst: WorstStarts | None
    front: Front | None
    commands: Mapping[str, str]
    left_out: Mapping[str, str]
    origin: Sequence[tuple[str, str]] = field(default=())
    shield: int = 0
    shield_words: str = ""
    learner: System | None = None
    settings: str = ""

    @property
    def answers(self) -> list[Answer]:
        """The five questions of a reviewer, each with sentences that answer it."""
        return answers(
            self.purpose,
            self.ruleset,
            self.task,
            self.verification,
            self.measured,
            self.stress,
            self.worst,
            self.shield,
            self.behaviour,
        )

    @property
    def _pruned_from(self) -> int:
        """The length of the list of the front that the policy was pruned from; 0 where it is on the front."""
        if self.front is None or self.learner is None or self.learner.front is None:
            return 0
        listed = any(point.ruleset == self.ruleset for point in self.front.points)
        return 0 if listed else len(self.learner.ruleset)

    def to_text(self, width: int = 100) -> str:
        """Return the five answers for a terminal of `width` characters."""
        return "\n\n".join(
            "\n".join(
                [answer.question, *(textwrap.fill(sentence, width, **INDENTED) for sentence in answer.said)]
            )
            for answer in self.answers
        )

    def to_html(self) -> str:
        """Return the page."""
        task = self.task
        picture = None if task is None else policy_picture(self.ruleset, task)
        observed = [] if task is None else list(zip(task.features, sources_of(task), strict=True))
        shown = worth_showing((f.name for f, _ in observed), self.ruleset.tested)
        return rendered(
            "dossier.html.j2",
            "pages",
            own=self,
            features=[feature_source for feature_source in observed if feature_source[0].name in shown],
            others=len(observed) - len(shown),
            sources=SOURCES,
            task_words="" if task is None else task_in_words(task, self.measured),
            picture=None if picture is None else inline_svg(picture),
            properties=[
                (self.verification.sign(name), name, why) for name, why in self.verification.reasons.items()
            ],
            legend=LEGEND,
            headings=list(self.measured),
            measured=measured_rows(self.measured) if self.measured else [],
            heat_map=None if self.stress is None else inline_svg(self.stress.figure()),
            front_drawn=front_drawn(self.front, PRINTED_FRONT),
            rules_hash=sha256_of_text(to_json(self.ruleset, task)),
            versions=versions(),
            neat=neat,
            strengths=strength_in_units(self.stress, task),
            printed=printed_exactly(self.ruleset, task),
            pruned_from=self._pruned_from,
            how=[] if self.learner is None else list(how_found(self.learner, self.ruleset)),
            parameters=[] if self.learner is None else own_parameters(self.learner),
            written=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, on {platform.platform()}",
        )


def dossier(
    policy: PolicyLike,
    task: TaskLike | None = None,
    purpose: str = "",
    require: str | Sequence[str] = (),
    quick: bool = False,
    episodes: int | None = None,
    *,
    title: str = "",
    model: str = "MODEL",
    size: str = "",
    front: Front | None = None,
    origin: Sequence[tuple[str, str]] = (),
    learner: System | None = None,
    settings: str = "",
    noise: Noise = "aligned",
    threads: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Dossier:
    """Collect everything that a reviewer asks about a policy.

    Args:
        policy: a RuleSet or a trained system.
        task: a task, its name, or a Gymnasium environment; a system's own where None. Without one nothing is
            played.
        purpose: what the policy is for, in your own words.
        require: what must hold, as in `verify`.
        quick: play 20 episodes rather than 100 and look for no worst starts.
        episodes: how many test seeds to play in an environment; 100 where None, or 20 if quick.
        title: how the policy is called.
        model: how commands call it, with its options.
        size: the options that take it from a front, such as "--rules 3".
        front: the best policy of each size, measured (see `front`); a system's own where None.
        origin: where the policy comes from, in rows of a name and a text.
        learner: the system that has learnt the rules, which knows what comes from requirements; the policy
            itself where it is one.
        settings: the settings of the run, as its file says them.
        noise: how training used the random numbers of a table.
        threads: how many threads to use, all cores where None; results do not depend on it.
        progress: is told what is done next.
    """
    ruleset, task = policy_and_task(policy, task)
    if episodes is not None:
        whole_number("episodes", episodes, 2, MOST_EPISODES)
    tell = progress or (lambda _: None)
    requirements, n_episodes = requirements_in(require), episodes or (QUICK_EPISODES if quick else EPISODES)
    least_required = least_return(requirements, ruleset)
    tell("rules and requirements")
    verification = verify(ruleset, task, requirements, episodes or EPISODES)
    shown = ruleset if task is None else readable(ruleset, task)
    reading, left_out = read_rules(shown, task), dict[str, str]()
    front = getattr(policy, "front", None) if front is None else front
    learner = policy if learner is None and isinstance(policy, System) else learner
    measured: Mapping[str, Evaluation] = {}
    measured_behaviour = measured_stress = worst = None
    if task is not None:
        tell("performance")
        measured = evaluations(ruleset, task, noise, threads, n_episodes)
        tell("behaviour")
        measured_behaviour = behaviour(ruleset, task, n_episodes, threads)
        measured_stress = stress(
            ruleset,
            task,
            episodes=n_episodes,
            require=least_required,
            threads=threads,
            progress=lambda name: tell(f"disturbance: {name}"),
        )
        if not quick:
            tell("worst starts")
            worst = worst_starts(ruleset, task, threads=threads)
    if task is None:
        left_out |= dict.fromkeys(PLAYED, "No task was given, so nothing was played. --task names one.")
    elif quick:
        left_out["Worst starts"] = "Left out, because --quick was asked for."
    if front is None:
        left_out["Front"] = "Only this policy is known: none of another size was looked for."
    sampled = any(evaluation.seeds is not None for evaluation in measured.values())
    name = title or plural(len(ruleset), "rule")
    return Dossier(
        title=name.rstrip(",") if task is None else f"{name} on {task.name}",
        purpose=purpose.strip(),
        ruleset=ruleset,
        task=task,
        reading=reading,
        verification=verification,
        measured=measured,
        regions=action_regions(
            ruleset, task, None if measured_behaviour is None else [r.share for r in measured_behaviour.rules]
        ),
        behaviour=measured_behaviour,
        stress=measured_stress,
        worst=worst,
        front=front,
        commands=_commands(
            model, size, requirements, least_required, n_episodes if sampled else EPISODES, episodes
        ),
        left_out=left_out,
        origin=origin,
        shield=0 if learner is None else learner.shield_of(ruleset),
        shield_words="" if learner is None else learner.shield_in_words(ruleset),
        learner=learner,
        settings=settings,
    )


def least_return(texts: Sequence[str], ruleset: RuleSet) -> str:
    """Return what disturbed policies must still reach, as `stress` wants it: the required mean return.

    It is "" where none is required.
    """
    for text in texts:
        if text.replace(" ", "").startswith("performance>="):
            return text.replace(" ", "")
        if is_about_behaviour(text):
            bound = behaviour_in(text, ruleset.observed_features, ruleset.action_names).returns
            if bound is not None and bound[0] in (">", ">="):
                return f"performance>={bound[1]:g}"
    return ""


def _commands(
    model: str, size: str, texts: Sequence[str], least: str, n_played: int, n_asked: int | None
) -> dict[str, str]:
    """Return the command that repeats each part: with the episodes that were played, and those asked for."""
    policy = f"{model} {size}".rstrip()
    required = "".join(f" --require {shlex.quote(text)}" for text in texts)
    count = "" if n_played == EPISODES else f" --episodes {n_played}"
    checked = "" if n_asked is None or not count else count
    disturbed_requirement = f" --require {shlex.quote(least)}" if least else ""
    return {
        "Rules": f"ifthen show {policy}",
        "Front": f"ifthen front {model}{count}",
        "Requirements": f"ifthen verify {policy}{required}{checked}",
        "Performance": f"ifthen evaluate {policy}{count}",
        "Behaviour": f"ifthen evaluate {policy}{count} --behaviour",
        "Robustness": f"ifthen stress {policy}{count}{disturbed_requirement}",
        "Worst starts": f"ifthen stress {policy} --worst-start",
    }
