"""What a stress test found, written into a folder: one HTML page that needs nothing else, pictures, JSON."""

from __future__ import annotations

import json
from pathlib import Path

from ifthen.exports.parts import rendered
from ifthen.figure_style import write_as
from ifthen.pages.explain_folder import check_folder
from ifthen.pages.report_page import inline_svg
from ifthen.provenance import versions
from ifthen.robustness.stress import Stress
from ifthen.rules.ruleset import RuleSet
from ifthen.store import write_text

PAGE, DATA, PICTURE = "stress.html", "stress.json", "stress"


def stress_to(folder: Path, stress: Stress, title: str, ruleset: RuleSet) -> Path:
    """Write page, heat map (PNG, PDF and SVG) and JSON; return the page.

    Args:
        folder: where to; made if need be. Older files of the same names are replaced.
        stress: what was found.
        title: how the policy is called.
        ruleset: its rules.
    """
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    figure, table = stress.figure(), stress.text_table()
    page = rendered(
        "stress.html.j2",
        "pages",
        title=f"{title} under disturbances",
        stress=stress,
        table=table,
        rules=[ruleset.rule_in_words(rule) for rule in range(len(ruleset))],
        picture=inline_svg(figure),
        versions=versions(),
    )
    write_text(folder / PAGE, page)
    write_text(folder / DATA, json.dumps(stress.to_dict(), indent=1, ensure_ascii=False) + "\n")
    for form in ("png", "pdf", "svg"):
        write_as(folder / PICTURE, figure, form)
    return folder / PAGE
