"""Five questions of a reviewer, answered in plain words from what was found about a policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ifthen.digits import at_most, in_units, interval_in_words, listed, plural
from ifthen.explanation.behaviour import Behaviour
from ifthen.pages.report_page import lead_of
from ifthen.robustness.stress import Stress
from ifthen.robustness.worst_start import ALIKE, WorstStarts
from ifthen.rules.ruleset import RuleSet
from ifthen.rules.text.constraint_text import is_about_behaviour, is_about_rules
from ifthen.simulate.simulator import LEVEL, Evaluation, unseen_share
from ifthen.tasks.task import Task
from ifthen.verification.verification import Verification

FEW_RULES = 8
"""So many rules or fewer are themselves the answer to what a policy does."""
READINGS = (
    "Requirements about actions speak of readings, which is what the rules see, not of the true state: "
    "noise, bias and delay lie between the two."
)
CLIPPED = " All readings count: one beyond a feature's range (section 1) is taken as the end of the range."
OF_A_TABLE = {
    "safe": ("It never meets a bad ending", "It can meet a bad ending"),
    "goal-certain": ("It always reaches the goal", "It does not always reach the goal"),
}
"""Properties that say what can happen in a table, in words: where they hold, and where they do not."""


class Answer(NamedTuple):
    """A question, and sentences that answer it."""

    question: str
    said: tuple[str, ...]


def answers(
    purpose: str,
    ruleset: RuleSet,
    task: Task | None,
    verification: Verification,
    measured: Mapping[str, Evaluation],
    stress: Stress | None,
    worst: WorstStarts | None,
    shield: int = 0,
    behaviour: Behaviour | None = None,
) -> list[Answer]:
    """Return the five questions with their answers; see `Dossier` for the arguments."""
    return [
        Answer("What does it do?", tuple(_does(purpose, ruleset, task, shield))),
        Answer("What can it never do?", tuple(_never(task, verification))),
        Answer("How good is it?", tuple(_good(task, measured, stress))),
        Answer("How sure is that?", tuple(_sure(verification, measured, worst, behaviour))),
        Answer("What breaks it?", tuple(_breaks(stress, worst))),
    ]


def _does(purpose: str, ruleset: RuleSet, task: Task | None, shield: int) -> Iterator[str]:
    if purpose:
        yield purpose
    where = "" if task is None else f" in {task.name}"
    senses = f"It looks at {listed(ruleset.tested, 8)}" if ruleset.tested else "It looks at nothing"
    yield f"At every step{where} it takes one of these actions: {listed(ruleset.action_names, 12)}. {senses}."
    few = len(ruleset) <= FEW_RULES
    yield f"It consists of {plural(len(ruleset), 'rule')}. {ruleset.how}" + (
        " They are:" if few else " Section 2 of the dossier lists them."
    )
    if few:
        yield from ruleset.terms_in_words()
        for r in range(len(ruleset)):
            origin = " (from the requirements given to training)" if r < shield else ""
            yield f"{r + 1}. {ruleset.rule_in_words(r)}{origin}"


def _never(task: Task | None, verification: Verification) -> Iterator[str]:
    for required in verification.requirements:
        yield f"{'✓' if required.passed else '✗ NOT MET:'} {required.text}: {required.why}."
    if not verification.requirements:
        yield "Nothing was required of it, so there is no list of what it must never do."
    elif task is not None and _about_rules(verification):
        yield READINGS + (CLIPPED if any(feature.clips for feature in task.features) else "")
    if "complete" in verification.reasons:
        completeness = (
            "It always has an action" if verification.properties["complete"] else "It may have no action"
        )
        yield f"{completeness}: {verification.reasons['complete']}."
    for name, (holds, broken) in OF_A_TABLE.items():
        if verification.properties.get(name) is not None:
            yield f"{holds if verification.properties[name] else broken}: {verification.reasons[name]}."


def _good(task: Task | None, measured: Mapping[str, Evaluation], stress: Stress | None) -> Iterator[str]:
    if task is None or not measured:
        yield "Nothing was played, so this is not known."
        return
    yield lead_of(measured, task)
    evaluation = next(iter(measured.values()))
    if evaluation.least is not None and evaluation.least != evaluation.most:
        least, most = in_units(evaluation.least), in_units(evaluation.most)
        yield f"Of {evaluation.episodes:,} episodes the worst got {least}, the best {most}."
    if evaluation.truncated_share == 1 and evaluation.longest is not None:
        yield f"Every episode reached the limit of {evaluation.longest:,} steps."
    if evaluation.fraction is not None:
        yield f"That is {evaluation.fraction:.1%} of what is possible."
    if stress is not None:
        how_played = (
            f" on average, in {plural(stress.episodes, 'episode')}" if stress.episodes else ", exactly"
        )
        yield f"Random actions get {in_units(stress.random, evaluation.performance)}{how_played}."


def _about_rules(verification: Verification) -> bool:
    """Return whether any requirement is about what rules do."""
    return any(is_about_rules(requirement.text) for requirement in verification.requirements)


def _sure(
    verification: Verification,
    measured: Mapping[str, Evaluation],
    worst: WorstStarts | None,
    behaviour: Behaviour | None,
) -> Iterator[str]:
    for evaluation in list(measured.values())[:1]:
        if evaluation.seeds is None:
            yield "The performance is exact, by all transition probabilities. Nothing was sampled."
            continue
        certainty = ""
        if evaluation.unseen:
            certainty = f" {_alike(evaluation, worst)}"
        elif evaluation.interval is not None:
            ends = interval_in_words(evaluation.interval, evaluation.performance)
            certainty = f" The mean over all episodes lies in {ends} with 95 % confidence."
        first, last = evaluation.seeds.min(), evaluation.seeds.max()
        yield (
            f"It was measured in {plural(evaluation.episodes, 'episode')} from reset seeds {first:,} to "
            f"{last:,}, which training does not use.{certainty}"
        )
    if behaviour is not None and behaviour.untested:
        yield behaviour.untested_in_words
    if _about_rules(verification):
        yield f"Requirements about actions are decided by reasoning, not by trying: for {verification.scope}."
    if any(is_about_behaviour(requirement.text) for requirement in verification.requirements):
        yield "Requirements about behaviour are met as surely as their lines say: by the model, or by play."


def _alike(evaluation: Evaluation, worst: WorstStarts | None) -> str:
    """Return what equal returns show, with the episodes that were played to look for the worst start."""
    common_return, episodes = in_units(evaluation.performance), evaluation.episodes
    sentence = f"All {episodes:,} got {common_return}"
    n_more, *returns = (0,) if worst is None or worst.played is None else worst.played
    if set(returns) == {evaluation.performance}:
        episodes += n_more
        sentence += f", and so did {n_more:,} further ones from other seeds (section 8)"
    share = at_most(unseen_share(episodes, LEVEL))
    return f"{sentence}: with 95 % confidence at most {share} of episodes get less."


def _breaks(stress: Stress | None, worst: WorstStarts | None) -> Iterator[str]:
    if stress is None:
        yield "Nothing was played, so this is not known."
        return
    if not stress.undisturbed.holds:
        yield f"It does not reach what is required even undisturbed: {stress.requirement}."
    with_findings = [sweep for sweep in stress.sweeps if sweep.found]
    if with_findings:
        without_training = f", without the {stress.trained_with} of training" if stress.trained_with else ""
        tried = f"Each disturbance was tried alone{without_training}, in a few strengths:"
        yield f"{stress.threshold}{stress.failure} {tried}"
        yield from (f"– {sweep.title}: {sweep.found} ({sweep.words})" for sweep in with_findings)
    if worst is not None and worst.all_alike:
        yield f"{ALIKE}{f' They lie in {worst.box}.' if worst.box else ''}"
    elif worst is not None:
        yield f"The worst start that was found, {worst.worst.name}, gets {in_units(worst.worst.total)}."
    yield from (f"Not tried: {sweep.not_tried}." for sweep in stress.sweeps if sweep.not_tried)
    yield f"Not tried either: {'; '.join(_missing(stress, worst))}."


def _missing(stress: Stress, worst: WorstStarts | None) -> Iterator[str]:
    """Yield what a reviewer would miss, in words."""
    yield "strengths between these"
    yield "several disturbances at once"
    if not any("." in sweep.name for sweep in stress.sweeps):
        yield "other parameters of the environment ('ifthen stress --vary' tries them)"
    if worst is None:
        yield "a search for the worst start"
    elif worst.box:
        yield "starts outside of this box"
