from __future__ import annotations

from typing import Any

import polars
import pytest

from ifthen.study.paper import PARAMETERS, is_papers, papers_performance
from ifthen.study.study_plan import StudyPlan, checked_plan
from ifthen.study.study_results import Results
from ifthen.study.verdicts import judge, papers_verdict, tallies
from ifthen.tables import paper_suite

HIGH, LOW = [0.9 + 0.001 * i for i in range(20)], [0.5 + 0.002 * i for i in range(20)]
TASKS = ["FrozenLake-4-0", "FrozenLake-8-0"]


def plan_of(*systems: str, **more: object) -> StudyPlan:
    own = [{"name": name, "parameters": PARAMETERS.get(name, {})} for name in systems]
    return checked_plan({"name": "made up", "tasks": TASKS, "trials": 20, "systems": own} | more)


def made_up(plan: StudyPlan, values: dict[tuple[str, str], list[float]]) -> Results:
    rows = [
        {"system": system, "task": task, "seed": seed, "fraction": value, "exact_fraction": 1 - value}
        for (system, task), own in values.items()
        for seed, value in enumerate(own)
    ]
    return Results(plan, polars.DataFrame(rows))


def test_tallies_count_verdicts_and_agreement_with_the_paper() -> None:
    plan = plan_of("PPL-ST", "XCSF")
    values = {("PPL-ST", task): LOW for task in TASKS} | {("XCSF", TASKS[0]): LOW, ("XCSF", TASKS[1]): HIGH}
    (tally,) = tallies(judge(made_up(plan, values)))
    assert tally.counts == {">": 0, "=": 1, "<": 1}
    # The paper: not told apart on the smallest lake, and XCS better on the larger.
    assert [papers_verdict(plan, "PPL-ST", "XCSF", task) for task in TASKS] == ["=", "<"]
    assert (tally.compared, tally.agree) == (2, 2)
    assert str(tally) == (
        "PPL-ST against XCSF: better on 0, not told apart on 1, worse on 1 of 2 tasks; "
        "the paper's verdict is the same on 2 of 2"
    )
    (exact,) = tallies(judge(made_up(plan, values), "exact_fraction"))
    assert exact.counts == {">": 1, "=": 1, "<": 0}


def test_what_cannot_be_tested_agrees_with_nothing() -> None:
    plan = plan_of("PPL-ST", "XCSF")
    (tally,) = tallies(judge(made_up(plan, {("PPL-ST", TASKS[0]): LOW, ("XCSF", TASKS[0]): LOW})))
    assert tally.counts == {">": 0, "=": 1, "<": 0, "?": 1}
    assert (tally.compared, tally.agree) == (1, 1)
    assert "not to be told yet on 1 of 2 tasks" in str(tally)


@pytest.mark.parametrize(("trials", "told"), [(2, False), (3, False), (4, True), (5, True)])
def test_with_too_few_trials_nothing_is_said(trials: int, told: bool) -> None:
    plan = plan_of("PPL-ST", "XCSF")
    values = {(s, task): own[:trials] for s, own in {"PPL-ST": LOW, "XCSF": HIGH}.items() for task in TASKS}
    for one in judge(made_up(plan, values)):
        assert (one.by_mean, one.by_effect) == (("<", "<") if told else (None, None))
        assert bool(one.why) != told
        if not told:
            assert (
                f"With {trials} and {trials} trials and 1 tests no difference can be significant" in one.why
            )


def test_rounding_does_not_decide_between_ties() -> None:
    plan = plan_of("PPL-ST", "XCSF")
    nearly = [value + 1e-16 for value in LOW]
    both = {("PPL-ST", TASKS[0]): LOW, ("XCSF", TASKS[0]): nearly}
    assert judge(made_up(plan, both))[0].comparison.a12 == 0.5


def test_tests_of_one_system_on_one_task_are_corrected_together() -> None:
    values = {
        (system, task): own for task in TASKS for system, own in {"A": HIGH, "B": LOW, "C": LOW}.items()
    }
    systems = [{"name": name, "system": "PPL-DL"} for name in "ABC"]
    together = plan_of(systems=systems, reference="A")
    apart = plan_of(systems=systems, comparisons=[["A", "B"], ["C", "B"]])
    first, second = judge(made_up(together, values))[:2]
    assert first.comparison.p is not None
    assert first.bonferroni_p == pytest.approx(2 * first.comparison.p)
    assert (first.other, second.other) == ("B", "C")
    alone = judge(made_up(apart, values))
    assert [(one.system, one.other) for one in alone[:2]] == [("A", "B"), ("C", "B")]
    assert alone[0].bonferroni_p == alone[0].comparison.p == first.comparison.p


def test_the_paper_compares_ppl_st_with_the_others_only() -> None:
    plan = plan_of("PPL-ST", "PPL-DL", "XCSF", tasks=[task.name for task in paper_suite()])
    assert papers_verdict(plan, "PPL-ST", "PPL-DL", "FrozenLake-12-0.5") == ">"
    assert papers_verdict(plan, "XCSF", "PPL-ST", "FrozenLake-12-0.5") is None
    others = [key for key in papers_performance() if key[0] != "PPL-ST"]
    verdicts = [papers_verdict(plan, "PPL-ST", *key) for key in others]
    assert [verdicts.count(sign) for sign in (">", "=", "<")] == [16, 4, 4]


@pytest.mark.parametrize(
    "changes",
    [
        {"epochs": 20},
        {"systems": [{"name": "XCSF", "system": "PPL-DL"}]},
        {"systems": [{"name": "XCSF"}]},  # with aligned noise
        {"systems": [{"name": "XCSF", "parameters": {**PARAMETERS["XCSF"], "chi": 0.5}}]},
        {"tasks": [{"size": 4, "gamma": 0.5, "name": "FrozenLake-4-0"}]},
        {"tasks": [{"size": 4, "p_slip": 0.1, "name": "FrozenLake-4-0"}]},
        {"tasks": [{"desc": ["SFFG", "FFFF"], "name": "FrozenLake-4-0"}]},
    ],
)
def test_the_papers_numbers_stand_only_beside_what_it_did(changes: dict[str, Any]) -> None:
    assert is_papers(plan_of("XCSF"), "XCSF", "FrozenLake-4-0")
    assert not is_papers(plan_of("XCSF", **changes), "XCSF", "FrozenLake-4-0")


def test_another_draw_of_the_noise_is_still_the_papers_task() -> None:
    plan = plan_of("XCSF", tasks=[{"size": 8, "p_slip": 0.3, "noise_seed": 9, "name": "FrozenLake-8-0.3"}])
    assert is_papers(plan, "XCSF", "FrozenLake-8-0.3")
