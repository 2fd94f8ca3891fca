"""A study's numbers as data, in full precision: one row per trial, per summary and per comparison."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import polars

from ifthen.study.results import Results
from ifthen.study.tables import MEASURES, performances
from ifthen.study.verdicts import judge


def all_data(results: Results) -> dict[str, polars.DataFrame]:
    """Return the data behind a study's tables, by the name of its file."""
    return {
        "trials": results.finals.drop("epoch", strict=False),
        "summaries": polars.DataFrame(_summaries(results), infer_schema_length=None),
        "comparisons": polars.DataFrame(_comparisons(results), infer_schema_length=None),
    }


def _summaries(results: Results) -> list[dict[str, Any]]:
    """Return a row for every system on every task, by both measures."""
    rows = []
    for measure in MEASURES:
        for task in results.plan.tasks_by_name():
            for one in performances(results, task, measure):
                numbers = _flat(asdict(one.summary))
                paper = dict(zip(("paper_mean", "paper_sd"), one.paper or (None, None), strict=True))
                own = {"measure": measure, "task": task, "system": one.system, "no_rule": one.no_rule}
                rows.append({**own, **numbers, **paper, "standard_errors_apart": one.apart})
    return rows


def _comparisons(results: Results) -> list[dict[str, Any]]:
    """Return a row for every comparison on every task, by both measures."""
    rows = []
    for measure in MEASURES:
        for one in judge(results, measure):
            own = asdict(one)
            rows.append({"measure": measure, **_flat(own.pop("comparison")), **own})
    return rows


def _flat(numbers: dict[str, Any]) -> dict[str, Any]:
    """Return numbers with intervals as two columns, and without sentences."""
    flat: dict[str, Any] = {}
    for name, value in numbers.items():
        if name.endswith("_interval"):
            low, high = value or (None, None)
            flat |= {f"{name}_low": low, f"{name}_high": high}
        elif name != "why":
            flat[name] = value
    return flat
