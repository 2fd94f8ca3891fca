"""A policy for a device: C with a header and unit tests, or Structured Text; in floats or in whole numbers.

What the device does is compared with the policy in double precision by proof, not by trying: see `deviation`.
Requirements that the policy keeps hold on the device, too: see `outward`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ifthen.environments.make import TaskLike
from ifthen.errors import ParameterError, RuleError, nearest
from ifthen.exports.device.c import to_device_c
from ifthen.exports.device.deviation import Deviation, deviation_of, head_of
from ifthen.exports.device.numbers import NUMBERS
from ifthen.exports.device.outward import for_device
from ifthen.exports.device.st import to_device_st
from ifthen.exports.device.vectors import Vector, test_vectors
from ifthen.exports.parts import EXACT, decision_list
from ifthen.rules.constraint import Constraint
from ifthen.rules.ruleset import PolicyLike, RuleSet
from ifthen.rules.text.constraint_text import constraints_in, is_about_rules, requirements_in
from ifthen.simulate.scope import check_fits, policy_and_task
from ifthen.tasks.task import Task

WRITERS = {"c": to_device_c, "st": to_device_st}


@dataclass(frozen=True)
class DeviceExport:
    """The files of a policy for a device.

    Args:
        files: the text of each, by name.
        deviation: where the device can act differently from the policy in double precision.
        vectors: the unit tests.
        kept: lines on the requirements that it keeps.
    """

    files: dict[str, str]
    deviation: Deviation
    vectors: tuple[Vector, ...]
    kept: tuple[str, ...] = ()


def export_device(
    policy: PolicyLike,
    format: str,
    numbers: str = "float32",
    task: TaskLike | None = None,
    name: str = "policy",
    require: str | Sequence[str] = (),
) -> DeviceExport:
    """Return a policy as code for a device, with unit tests and the proof of where it can act differently.

    Args:
        policy: a ruleset or a trained system.
        format: "c" or "st".
        numbers: "float64", "float32", "int16" or "int32".
        task: a system's own task where None; see `export`.
        name: of the files, without their endings.
        require: requirements about rules, such as "never heat when room >= 24", that the device must keep
            for every reading, also after rounding; those that a system was trained with are kept, too.
    """
    constraints = _constraints(policy, require)
    ruleset, task = policy_and_task(policy, task)
    check_numbers(format, numbers)
    check_fits(ruleset, task)
    rules, exact = _list_of(ruleset, task, format, numbers)
    constraints += constraints_in(requirements_in(require), rules.observed_features, rules.action_names)
    original, written, device, outward, added = for_device(rules, numbers, constraints)
    deviation, vectors = deviation_of(original, device, written), test_vectors(written, device)
    kept = tuple(_kept_in_words([constraint.text for constraint in constraints], outward, added))
    head = head_of(ruleset, task, exact, deviation, kept)
    files = WRITERS[format](written, device, head, vectors, name)
    return DeviceExport(files, deviation, tuple(vectors), kept)


def _constraints(policy: PolicyLike, require: str | Sequence[str]) -> list[Constraint]:
    """Return what a system was trained to keep; raise if something else than rules is required."""
    for text in requirements_in(require):
        if not is_about_rules(text):
            raise ParameterError(f"{text!r} is not about rules: a device is given what rules must keep.")
    shields = getattr(policy, "shields", None)
    return [] if shields is None else list(shields.constraints)


def _kept_in_words(texts: Sequence[str], outward: int, added: int) -> Iterator[str]:
    """Yield lines on requirements that the device keeps."""
    if not texts:
        return
    yield "Kept for every reading that is not refused, also after rounding, proved by exact reasoning:"
    yield from (f"  {text}" for text in dict.fromkeys(texts))
    if outward:
        subject = "The first rule is" if outward == 1 else f"The first {outward} rules are"
        note = f" {added} of them stand on top for this device alone." if added else ""
        yield f"{subject} from requirements and rounded outward.{note}"


def check_numbers(format: str, numbers: str) -> None:
    """Raise where a format has no choice of numbers, or where there are no such numbers."""
    if format not in WRITERS:
        raise ParameterError(
            f"numbers are chosen for c and st, not for {format!r}.{nearest(str(format), WRITERS)}"
        )
    if numbers not in NUMBERS:
        raise ParameterError(f"unknown numbers {numbers!r}.{nearest(str(numbers), NUMBERS)}")


def _list_of(ruleset: RuleSet, task: Task | None, format: str, numbers: str) -> tuple[RuleSet, str]:
    """Return the rules as a decision list, unless they can be written as they are, and a line on it."""
    if ruleset.ordered or (format == "c" and numbers == "float64"):
        return ruleset, EXACT
    try:
        return decision_list(ruleset, task)
    except RuleError:
        raise RuleError(
            f"rules of kind {ruleset.kind!r} over real features compare sums whose deviation in {numbers} is "
            "not proved. Use --to c --numbers float64, or learn a decision list from them (ifthen distil)."
        ) from None
