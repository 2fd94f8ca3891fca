"""The folder of a tuning: what was asked, what was proposed, and what each training left behind.

tune.toml         what was asked
proposals.jsonl   one line for every proposal, written before it is tried
trials/           what trainings left behind, as those of a study
log.csv           when trainings ended, and how long they took
seconds.txt       how long the search has taken so far
trials.parquet    all that was tried, as a table
best.toml         the best settings, for `ifthen train --config`
report.html       the report
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from ifthen.errors import OutputError, ParameterError
from ifthen.runs.settings import read_settings
from ifthen.store import parse_json, read_text, write_text
from ifthen.study.study_folder import changed_settings, claimed, sign
from ifthen.study.study_plan import Trial
from ifthen.study.trial import TrialFiles
from ifthen.tuning.early_stopping import Mark
from ifthen.tuning.tuning_plan import FREE, Phase, TunePlan, checked_tune_plan

PLAN, PROPOSALS, SECONDS = "tune.toml", "proposals.jsonl", "seconds.txt"
TABLE, BEST, REPORT = "trials.parquet", "best.toml", "report.html"
SIZE_LIMIT = 256 * 2**20


class Proposal(NamedTuple):
    """Settings to be tried, and the marks that their training must reach."""

    number: int
    parameters: dict[str, Any]
    marks: list[Mark]


class TuneFolder:
    """A tuning's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def claim(self, plan: TunePlan) -> None:
        """Take the folder for a tuning, or raise if it holds anything else; a longer budget may go on."""
        with claimed(self.path, PLAN, "tuning: give another --out"):
            if (self / PLAN).exists():
                self._check_same(plan)
            sign(self.path, "tuning")
            write_text(self / PLAN, plan.to_toml())

    def _check_same(self, plan: TunePlan) -> None:
        """Raise unless the folder's tuning asks for the same, naming the first difference."""
        before = checked_tune_plan(read_settings(self / PLAN))
        for name, old_value, new_value in changed_settings(before, plan, FREE):
            raise ParameterError(
                f"{self.path} holds a tuning with {name} = {old_value}, and this one asks for {new_value}. "
                "Give the same to go on with it, or another --out."
            )

    def trial(self, phase: Phase, task: str, number: int, seed: int) -> Trial:
        """Return a training as the engines know it; trainings of a search are told apart by their seeds."""
        return Trial(phase if phase == "search" else f"{phase}-{number}", task, seed)

    def files(self, trial: Trial) -> TrialFiles:
        """Return the files of a training."""
        return TrialFiles(self.path, trial)

    def proposals(self) -> list[Proposal]:
        """Return all proposals so far, by number; half a line, as a killed process leaves it, is cut off."""
        path = self / PROPOSALS
        try:
            text = read_text(path, SIZE_LIMIT)
        except FileNotFoundError:
            return []
        lines = text.split("\n")
        if lines.pop():
            write_text(path, "".join(f"{line}\n" for line in lines))
        try:
            return [_proposal(number, parse_json(line)) for number, line in enumerate(lines)]
        except (ValueError, KeyError, TypeError) as problem:
            raise OutputError(f"{path} is damaged: {problem}. Begin in another folder.") from None

    def add(self, proposal: Proposal) -> None:
        """Write down a proposal."""
        with (self / PROPOSALS).open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(proposal._asdict()) + "\n")

    @property
    def seconds(self) -> float:
        """How long the search has taken so far."""
        try:
            return float(read_text(self / SECONDS, 100))
        except (OSError, ValueError):
            return 0.0

    @seconds.setter
    def seconds(self, value: float) -> None:
        write_text(self / SECONDS, f"{value:.1f}\n")


def _proposal(number: int, data: Any) -> Proposal:
    """Return a proposal from a line of the file, or raise where it is none."""
    proposal = Proposal(
        data["number"], dict(data["parameters"]), [Mark(*map(float, mark)) for mark in data["marks"]]
    )
    if proposal.number != number:
        raise ValueError(f"line {number + 1} holds number {proposal.number}")
    return proposal
