"""Everything that explains a policy, written into one folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from ifthen.errors import OutputError
from ifthen.explanation.reading import read_rules
from ifthen.exports.data import to_text
from ifthen.store import write_text
from ifthen.text_table import csv_of

if TYPE_CHECKING:
    from ifthen.rules.ruleset import RuleSet
    from ifthen.systems.front import Front
    from ifthen.tasks.task import Task
    from ifthen.verification import Verification

PAGE, PICTURES = "explain.html", "pictures"
FILES = (
    *(PAGE, "rules.txt", "rules.md", "rules.tex", "rules.csv"),
    *("verification.md", "verification.json", "front.csv", "episode.txt"),
)


def check_folder(folder: Path) -> None:
    """Raise unless a folder can be made or written to there."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file, not a folder. Give another --out.")


def explain_to(
    folder: Path,
    policies: Sequence[tuple[str, RuleSet]],
    task: Task | None,
    verification: Verification,
    front: Front | None = None,
    model: str = "MODEL",
) -> Path | None:
    """Write the page, the rules in words, the verification, pictures and, with a task, an episode.

    Args:
        folder: where to; made if need be. Older files of the same names are replaced.
        policies: the policy to explain, with its name, and perhaps a second one to lay beside it on the page.
        task: the task they are for, where it is known.
        verification: of the first policy.
        front: the best policy of each size.
        model: how commands call the first policy, with its options.

    Returns:
        The page; None without a task, and where the task has too many states.
    """
    from ifthen.explanation.pictures.write_pictures import write_pictures
    from ifthen.explanation.trace import trace
    from ifthen.figure_style import Form, write_as
    from ifthen.pages.explain_page import explain_page, part_of

    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for old in [folder / name for name in FILES] + list((folder / PICTURES).glob("*.*")):
        old.unlink(missing_ok=True)  # a file of an older policy must not stay beside those of this one
    names, (ruleset, *second_policies) = zip(*policies, strict=True)
    reading = read_rules(ruleset, task)
    write_text(folder / "rules.txt", to_text(ruleset, task))
    write_text(folder / "rules.md", reading.to_markdown())
    write_text(folder / "rules.tex", reading.to_latex())
    write_text(folder / "rules.csv", csv_of(reading.to_table()))
    write_text(folder / "verification.md", verification.to_markdown())
    data = json.dumps(verification.to_dict(), indent=1, ensure_ascii=False)
    write_text(folder / "verification.json", data + "\n")
    write_pictures(folder / PICTURES, ruleset, task)
    if task is not None:
        write_text(folder / "episode.txt", f"{trace(ruleset, task, episode=0)}\n")
    if front is not None:
        write_text(folder / "front.csv", csv_of(front.to_table().drop("words")))
        for form in get_args(Form):
            write_as(folder / PICTURES / "front", front.figure(), form)
    if task is None or not part_of(task).fits:
        return None
    if names[0] in names[1:]:
        names = (f"{names[0]} (A)", f"{names[0]} (B)")
    second, both_names = second_policies[0] if second_policies else None, (*names, "")[:2]
    options: Any = {"names": both_names, "verification": verification, "front": front, "model": model}
    page = explain_page(ruleset, task, second, **options)
    write_text(folder / PAGE, page)
    return folder / PAGE
