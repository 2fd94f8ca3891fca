"""A study's tables: final performance, verdicts, sizes of rulesets, and times (the paper's Tables 1 and A1).

The paper's numbers stand beside ours wherever a study does what the paper did. Columns without a number are
left out. `all_data` has the numbers in full precision.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import polars

from ifthen.digits import NOTHING, counted, in_units, mean_and_sd
from ifthen.study.histories import UNSEEN
from ifthen.study.paper import SIZES, TRIALS, is_papers, papers_performance, papers_size
from ifthen.study.statistics import Summary, standard_errors_apart, summarise
from ifthen.study.study_results import MEASURES, Measure, Results
from ifthen.study.verdicts import ALPHA, judge, measures, samples_of, second_name
from ifthen.text_table import TextTable

ROUNDING = 0.05
"""The paper's sizes are rounded to one digit after the point."""
NONE = "0 %"


def all_tables(results: Results) -> dict[str, TextTable]:
    """Return every table of a study, by the name of its file."""
    main, second = measures(results)
    tables = {
        "performance": performance_table(results),
        "verdicts": verdicts_table(results, main),
        f"verdicts-{second_name(results)}": verdicts_table(results, second),
        "spread": spread_table(results, main),
        "sizes": sizes_table(results),
        "times": times_table(results),
    }
    empty = (NOTHING, NONE)
    return {name: table.without_empty(empty) for name, table in tables.items() if table.rows}


def measured_on(results: Results, measure: Measure) -> str:
    """Return what performance by a measure is, in words."""
    on_z = measure == "fraction"
    on_seeds = (
        "on training seeds" if on_z else f"on {UNSEEN} test seeds, which nothing was learnt or selected on"
    )
    if results.only_environments:
        return on_seeds
    optimum = "an optimal policy's there (OTP)" if on_z else "the optimum"
    sentence = f"{'on z, the training episodes' if on_z else 'exact'}, as a fraction of {optimum}"
    return sentence + (f"; in environments {on_seeds}" if results.environments else "")


@dataclass(frozen=True)
class Performance:
    """What a system got on a task, and what it got in the paper."""

    system: str
    summary: Summary
    paper: tuple[float, float] | None
    """Mean and sd; None where the paper did not do the same."""
    apart: float | None
    """How many standard errors lie between the means; None where there is no such unit."""
    no_rule: int = 0
    """How many trials reached a state of an environment with no rule: they are not in the summary."""

    def __str__(self) -> str:
        """Mean ± sd, and how many trials have no return."""
        words = [] if self.summary.mean is None else [mean_and_sd(self.summary.mean, self.summary.sd)]
        words += [f"no rule: {self.no_rule}"] if self.no_rule else []
        return words[0] + "".join(f" ({note})" for note in words[1:]) if words else NOTHING


def performances(results: Results, task: str, measure: Measure) -> list[Performance]:
    """Return the final performance of every system on a task."""
    system_performances = []
    for system, values in samples_of(results, task, measure).items():
        counted_values = results.counted(task, values)
        summary, no_rule = (
            summarise(counted_values, results.failures(system, task)),
            len(values) - len(counted_values),
        )
        if no_rule and not counted_values:
            summary = replace(summary, why="Where all trials reached a state with no rule there is no mean.")
        paper = apart = None
        if measure == "fraction" and is_papers(results.plan, system, task):
            mean, sd, _ = papers_performance()[system, task]
            paper = (mean, sd)
            if summary.mean is not None and summary.sd is not None:
                apart = standard_errors_apart(summary.mean, summary.sd, summary.n, mean, sd, TRIALS)
        system_performances.append(Performance(system, summary, paper, apart, no_rule))
    return system_performances


def performance_table(results: Results) -> TextTable:
    """Return final performance by both measures, mean ± sd over trials, beside the paper's (its Table 1)."""
    rows: list[tuple[str, ...]] = []
    names = measures(results)
    main, second = names
    heads: dict[Measure, tuple[str, ...]] = {
        "fraction": (names["fraction"], "paper", "s.e. apart"),
        "exact_fraction": (names["exact_fraction"], "no rule"),
    }
    for task in results.plan.tasks_by_name():
        by_measure = (performances(results, task, measure) for measure in MEASURES.values())
        for on_z, exact in zip(*by_measure, strict=True):
            same_mean = on_z.paper is not None and on_z.summary.sd is not None and on_z.apart is None
            apart = "0" if same_mean else NOTHING if on_z.apart is None else f"{on_z.apart:.1f}"
            paper = NOTHING if on_z.paper is None else mean_and_sd(*on_z.paper)
            shares = results.values(on_z.system, task, "unseen_failed_share")
            no_rule = f"{100 * sum(shares) / len(shares):.1f} %" if any(shares) else NONE
            count = f"{on_z.summary.n + on_z.no_rule}"
            count += f" ({on_z.summary.failed} failed)" if on_z.summary.failed else ""
            cells: dict[Measure, tuple[str, ...]] = {
                "fraction": (str(on_z), paper, apart),
                "exact_fraction": (str(exact), no_rule),
            }
            rows.append((task, on_z.system, count, *cells[main], *cells[second]))
    trials = results.plan.trials
    if {row[2] for row in rows} == {str(trials)}:
        rows = [(*row[:2], NOTHING, *row[3:]) for row in rows]
    sentences = [f"Performance {measured_on(results, measure)}." for measure in names]
    if any(results.values(row[1], row[0], "pruned_score") for row in rows):
        sentences.append("Both are of the rules as learnt; the table of sizes has that of the pruned rules.")
    return TextTable(
        f"Final performance, mean ± sd over {trials} trial{'s' * (trials > 1)}",
        ("task", "system", "n", *heads[main], *heads[second]),
        tuple(rows),
        (" ".join(sentences), *_notes(results)),
    )


def spread_table(results: Results, measure: Measure = "fraction") -> TextTable:
    """Return medians, interquartile means with bootstrap intervals, tests of normality, best and worst."""
    rows, reasons = [], []
    for task in results.plan.tasks_by_name():
        for performance in performances(results, task, measure):
            summary = performance.summary
            interval = summary.iqm_interval
            least_returns = results.values(performance.system, task, "unseen_least")
            rows.append(
                (
                    *(task, performance.system, mean_and_sd(summary.median), mean_and_sd(summary.iqm)),
                    " … ".join(map(mean_and_sd, interval)) if interval else NOTHING,
                    NOTHING if summary.shapiro_p is None else f"{summary.shapiro_p:.2g}",
                    mean_and_sd(summary.maximum),
                    "no rule" if performance.no_rule else mean_and_sd(summary.minimum),
                    in_units(min(least_returns)) if least_returns else NOTHING,
                )
            )
            reasons += [summary.why] if summary.why else []
    headings = ("median", "IQM", "95 % interval", "Shapiro–Wilk p", "best", "worst", "worst episode")
    return TextTable(
        f"Final performance {measured_on(results, measure)}: medians and interquartile means",
        ("task", "system", *headings),
        tuple(rows),
        (*dict.fromkeys(reasons), *_notes(results)),
    )


def verdicts_table(results: Results, measure: Measure = "fraction") -> TextTable:
    """Return how the reference compares with every other system on every task, with the tests behind it."""
    judged = judge(results, measure)
    systems = dict.fromkeys(judgement.system for judgement in judged)
    only_system = next(iter(systems)) if len(systems) == 1 else None
    rows = []
    for judgement in judged:
        verdicts = (judgement.by_mean, judgement.by_effect, judgement.paper)
        p_values = (judgement.comparison.p, judgement.bonferroni_p, judgement.holm_p)
        a12 = judgement.comparison.a12
        rows.append(
            (
                *(judgement.task, *([] if only_system else [judgement.system]), judgement.other),
                *(verdict or NOTHING for verdict in verdicts),
                NOTHING if a12 is None else f"{a12:.3f}",
                *(NOTHING if p is None else f"{p:.3g}" for p in p_values),
                judgement.comparison.method or NOTHING,
            )
        )
    headings = ("by mean", "by A12", "paper", "A12", "p", "Bonferroni p", "Holm p", "method")
    return TextTable(
        f"{only_system or 'One'} against the others, final performance {measured_on(results, measure)}",
        ("task", *(() if only_system else ("system",)), "against", *headings),
        tuple(rows),
        (
            "Two-sided Mann–Whitney U tests; >, =, < say whether it is better, not told apart or worse at "
            f"{ALPHA:g} after Bonferroni's correction within the task, going by the larger mean, and by A12.",
            *dict.fromkeys(judgement.why for judgement in judged if judgement.why),
            *_notes(results),
        ),
    )


def sizes_table(results: Results) -> TextTable:
    """Return the sizes of final rulesets, of their best action maps (Table A1), and of pruned rulesets."""
    rows = []
    for task in results.plan.tasks_by_name():
        for name in (system.name for system in results.plan.systems):
            cells: list[str] = []
            for column in SIZES:
                summary = summarise(results.values(name, task, column))
                comparable = is_papers(results.plan, name, task)
                cells += _size_cells(summary, papers_size(name, task, column) if comparable else None)
            sizes = results.values(name, task, "pruned_rules")
            size_range = f"{min(sizes):.0f} to {max(sizes):.0f}" if sizes else NOTHING
            scores = results.values(name, task, "pruned_score")
            pruned_summary = summarise(results.counted(task, scores))
            pruned = Performance(name, pruned_summary, None, None, len(scores) - pruned_summary.n)
            rows.append((task, name, *cells, _size_cells(summarise(sizes), None)[0], size_range, str(pruned)))
    paper_headings = ("paper", "s.e. apart")
    has_paper = any(cell != NOTHING for row in rows for cell in (row[3], row[6]))
    notes = (
        ["The paper gives no deviations of sizes: distances are in our standard errors."] if has_paper else []
    )
    if any(row[8] != NOTHING for row in rows):
        score_note = (
            ", and their performance on test seeds" if any(row[10] != NOTHING for row in rows) else ""
        )
        notes.append(f"Pruned: fewer rules that do as well{score_note}.")
    headings = (
        "rules",
        *paper_headings,
        "best action map",
        *paper_headings,
        "pruned",
        "from, to",
        "pruned, on test seeds",
    )
    return TextTable(
        "Sizes of final rulesets, mean ± sd over trials",
        ("task", "system", *headings),
        tuple(rows),
        (*notes, *_notes(results)),
    )


def _size_cells(summary: Summary, paper: float | None) -> tuple[str, str, str]:
    """Return a size, the paper's, and how many of our standard errors lie between them."""
    size = NOTHING if summary.mean is None else f"{summary.mean:.1f}".removesuffix(".0")
    if summary.sd:
        size = f"{summary.mean:.1f} ± {summary.sd:.1f}"
    if paper is None or summary.mean is None or summary.sd is None:
        return size, NOTHING if paper is None else f"{paper:.1f}", NOTHING
    distance = abs(summary.mean - paper)
    standard_error = summary.sd / math.sqrt(summary.n)
    apart = f"{distance / standard_error:.1f}" if standard_error else "0" if distance <= ROUNDING else NOTHING
    return size, f"{paper:.1f}", apart


def times_table(results: Results) -> TextTable:
    """Return how long each system took on each task, and how much it played in that time.

    The table has no rows where the study has no log. Trials taken over from another study have no times.
    """
    rows: list[tuple[str, ...]] = []
    if results.log is not None:
        seconds = results.log.group_by("system", "task", "seed").agg(polars.col("processor_seconds").sum())
        timed = seconds.filter(polars.col("processor_seconds") > 0)
        finals = results.finals.join(timed, on=["system", "task", "seed"])
        for system in results.plan.systems:
            system_finals = finals.filter(polars.col("system") == system.name)
            by_task = {
                task: system_finals.filter(polars.col("task") == task)
                for task in results.plan.tasks_by_name()
            }
            total = {"all tasks": system_finals} if len(by_task) > 1 else {}
            for name, trials in {**by_task, **total}.items():
                rows += [(system.name, name, *_time_cells(trials))] if len(trials) else []
    return TextTable(
        "Processor time of the trials, and what they played in it",
        (
            *("system", "task", "trials", "processor minutes", "s per trial", "episodes", "steps"),
            *("episodes/s", "steps/s"),
        ),
        tuple(rows),
        (
            "One thread each. Seconds and rates are medians over trials. Episodes of equal policies are "
            "played once and count each time. The first trials of a process also compile.",
        ),
    )


def _time_cells(finals: polars.DataFrame) -> tuple[str, ...]:
    """Return how many trials there are, how long they took, and how much they played per second."""
    seconds = finals["processor_seconds"]
    rates = [float((finals[name] / seconds).median()) for name in ("episodes", "steps")]  # type: ignore[arg-type]
    total, median = float(seconds.sum()), float(seconds.median())  # type: ignore[arg-type]  # not empty
    totals = [float(finals[name].sum()) for name in ("episodes", "steps")]
    return (
        str(len(finals)),
        f"{total / 60:.1f}",
        f"{median:.2f}",
        *map(counted, totals),
        *map(counted, rates),
    )


def _notes(results: Results) -> list[str]:
    """Return sentences on what a reader could misunderstand."""
    environments, notes = results.environments, []
    absolute = [task for task in results.plan.tasks_by_name() if not results.relative(task)]
    if absolute := [task for task in absolute if task not in environments]:
        notes.append(f"Absolute, not as a fraction, because returns can be negative: {', '.join(absolute)}.")
    if environments and not results.only_environments:
        notes.append(f"Mean returns, because the optimum is not known: {', '.join(sorted(environments))}.")
    finals = results.finals.filter(polars.col("task").is_in(environments))
    score_columns = ("performance", "unseen_score") if environments else ()
    scores = [row for name in score_columns for row in finals.select("task", name).iter_rows()]
    if any(value <= results.floor(task) for task, value in scores):
        notes.append(
            "An episode that reaches a state with no rule has no return: trials with such an episode are "
            "counted (no rule: n) and in no mean."
        )
    if results.failed or results.missing:
        unfinished = f"{len(results.failed)} failed and {len(results.missing)} unfinished trials"
        notes.append(f"Not in the table: {unfinished}.")
    return notes


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
    for measure in MEASURES.values():
        for task in results.plan.tasks_by_name():
            for performance in performances(results, task, measure):
                numbers = _flat(asdict(performance.summary))
                paper = dict(zip(("paper_mean", "paper_sd"), performance.paper or (None, None), strict=True))
                labels = {
                    "measure": measure,
                    "task": task,
                    "system": performance.system,
                    "no_rule": performance.no_rule,
                }
                rows.append({**labels, **numbers, **paper, "standard_errors_apart": performance.apart})
    return rows


def _comparisons(results: Results) -> list[dict[str, Any]]:
    """Return a row for every comparison on every task, by both measures."""
    rows = []
    for measure in MEASURES.values():
        for judgement in judge(results, measure):
            row = asdict(judgement)
            rows.append({"measure": measure, **_flat(row.pop("comparison")), **row})
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
