from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from ifthen import IfthenError, TabularTask
from ifthen.environments.frozen_lake import frozen_lake
from ifthen.errors import ParameterError
from ifthen.simulate.table_simulator import optimal_performance
from ifthen.study import paper
from ifthen.study.study_plan import StudyPlan, Trial, read_plan
from ifthen.tables import paper_suite
from tests.study.studies import SYSTEMS, TASKS, small_plan
from tests.tables import tables_of

STUDIES = Path(__file__).parents[2] / "studies"


def test_a_study_is_every_system_on_every_task_from_every_seed() -> None:
    trials = small_plan(first_seed=4).trials_to_run()
    assert len(trials) == len(set(trials)) == 2 * 2 * 3
    assert trials[0] == Trial("PPL-DL", "calm", 4)
    assert {trial.seed for trial in trials} == {4, 5, 6}
    assert {trial.task for trial in trials} == {"calm", "slippery"}


def test_the_papers_study_is_its_three_systems_on_its_twelve_tasks() -> None:
    plan = read_plan(STUDIES / "paper.toml", [])
    assert list(plan.tasks_by_name()) == [task.name for task in paper_suite()]
    assert len(plan.trials_to_run()) == 3 * 12 * 30
    xcsf = plan.make_system(Trial("XCSF", "FrozenLake-8-0", 3))
    assert (xcsf.seed, xcsf.parameters.noise, xcsf.parameters.equality) == (3, "stream", "alleles")


def test_the_sensitivity_study_varies_the_rollouts_only() -> None:
    plan = read_plan(STUDIES / "sensitivity.toml", [])
    rollouts = [system.parameters["num_reinf_rollouts"] for system in plan.systems]
    assert rollouts == [1, 2, 5, 10, 20, 50]
    assert plan.make_system(Trial("PPL-ST, 2 rollouts", "FrozenLake-8-0", 0)).name == "PPL-ST"


def test_the_study_of_noise_trains_both_systems_in_three_ways() -> None:
    plan = read_plan(STUDIES / "noise.toml", [])
    learners = [plan.make_system(Trial(s.name, "FrozenLake-4-0.1", 0)) for s in plan.systems]
    ways = [(x.name, getattr(x.parameters, "fitness", "sampled"), x.parameters.noise) for x in learners]
    assert ways[:3] == [
        ("PPL-ST", "sampled", "stream"),
        ("PPL-ST", "sampled", "aligned"),
        ("PPL-ST", "exact", "aligned"),
    ]
    assert [way[1:] for way in ways[3:6]] == [way[1:] for way in ways[:3]]
    assert ways[6:] == [("XCSF", "sampled", "stream"), ("XCSF", "sampled", "aligned")]
    assert plan.compared()["PPL-ST, exact"] == ["PPL-DL, exact", "XCSF, aligned"]


def test_the_first_trial_of_everything_comes_before_the_second_of_anything() -> None:
    trials = small_plan().trials_to_run()
    assert [trial.seed for trial in trials] == [0] * 4 + [1] * 4 + [2] * 4
    assert {trial[:2] for trial in trials[:4]} == {trial[:2] for trial in trials[8:]}


def test_one_system_is_compared_with_all_others_unless_pairs_are_given() -> None:
    assert small_plan().compared() == {"PPL-DL": ["XCSF"]}
    assert small_plan(reference="XCSF").compared() == {"XCSF": ["PPL-DL"]}
    pairs = [["XCSF", "PPL-DL"], ["PPL-DL", "XCSF"]]
    assert small_plan(comparisons=pairs).compared() == {"XCSF": ["PPL-DL"], "PPL-DL": ["XCSF"]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"comparisons": [["XCSF", "XCSG"]]}, "comparisons must be one of"),
        ({"comparisons": [["XCSF"]]}, "at least 2 items"),
        ({"comparisons": [["XCSF", "PPL-DL"]], "reference": "XCSF"}, "a reference or comparisons, not both"),
        ({"varies": "p_mut"}, "the system 'XCSF' gives no number for 'p_mut'"),
        ({"checkpoint_seconds": -1.0}, "greater than or equal to 0"),
    ],
)
def test_impossible_comparisons_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        small_plan(**changes)


@pytest.mark.parametrize("name", ["..", "../../up", "a/b", ".", "~"])
def test_no_name_leads_out_of_the_studys_folder(name: str) -> None:
    parts = Path(Trial(name, name, 0).stem).parts
    assert len(parts) == 3
    assert not set(parts) & {"..", ".", "~", "/"}


def test_trials_of_a_task_share_it() -> None:
    plan = small_plan()
    first, second = (plan.make_system(Trial("XCSF", "calm", seed)) for seed in (0, 1))
    assert first.task is second.task


def test_a_plan_survives_being_written_and_read() -> None:
    assert StudyPlan.from_json(small_plan().to_json()) == small_plan()


def test_changes_reach_the_plan_and_the_parameters_of_a_system(tmp_path: Path) -> None:
    path = STUDIES / "paper.toml"
    plan = read_plan(path, ["trials=2", "XCSF.chi=0.5", "XCSF.noise=aligned"])
    assert plan.trials == 2
    assert plan.system_plan("XCSF").parameters == {"noise": "aligned", "equality": "alleles", "chi": 0.5}
    with pytest.raises(ParameterError, match=r"no system 'XCS'\. Did you mean 'XCSF'"):
        read_plan(path, ["XCS.chi=0.5"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trails": 3}, r"unknown setting 'trails'\. Did you mean 'trials'"),
        ({"trials": 0}, "trials: .* not 0"),
        ({"epochs": "many"}, "epochs: .* not 'many'"),
        ({"systems": []}, "systems: "),
        ({"tasks": []}, "tasks: "),
        ({"systems": [SYSTEMS[0], SYSTEMS[0]]}, "names that differ"),
        ({"systems": [{"name": "a: b"}, {"name": "a, b"}]}, "names that differ in letters or numbers"),
        (
            {"systems": [{"name": "XCSF", "paramters": {}}]},
            r"systems\.0\.paramters.*Did you mean 'parameters'",
        ),
        ({"reference": "PPL-XY"}, "reference must be one of"),
        ({"tasks": [{"desc": ["SG"], "slip": 0.1}]}, r"unknown setting 'tasks\.0\.slip'"),
    ],
)
def test_impossible_plans_are_refused_by_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        small_plan(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"systems": [{"name": "YCS"}]}, "unknown system 'YCS'"),
        ({"systems": [{"name": "XCSF", "parameters": {"chy": 1}}]}, "unknown parameter 'chy'"),
        ({"tasks": ["FrozenLake-5-0"]}, "FrozenLake"),
        ({"tasks": [TASKS[0], TASKS[0]]}, "names the task calm twice"),
    ],
)
def test_systems_and_tasks_that_do_not_exist_are_refused_before_anything_runs(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(IfthenError, match=message):
        small_plan(**changes).trials_to_run()


def authors_otp(size: int, p_slip: float) -> float:
    """Return the optimal policy's performance on the authors' draw of the noise."""
    text = Path(paper.__file__).with_name("authors_otp.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    wanted = (str(size), p_slip)
    return next(float(row["otp"]) for row in rows if (row["grid_size"], float(row["p_slip"])) == wanted)


def matching_draw(size: int, p_slip: float) -> int:
    """Return, of the first 200 draws of the noise, the one on which the optimal policy does as on theirs."""
    theirs = authors_otp(size, p_slip)

    def distance(seed: int) -> float:
        task = frozen_lake(size, p_slip, noise_seed=seed)
        return abs(optimal_performance(task, "sampled", "stream") - theirs)

    return min(range(200), key=distance)


def test_the_matched_study_uses_the_draws_that_are_nearest_to_the_authors() -> None:
    plan = read_plan(STUDIES / "matched.toml", [])
    for task in tables_of(plan).values():
        _, size, p_slip = task.name.split("-")
        if size == "4":
            assert task.noise_seed == matching_draw(4, float(p_slip))
        nearest = abs(optimal_performance(task, "sampled", "stream") - authors_otp(int(size), float(p_slip)))
        assert nearest < 0.002
        assert task.preset == paper_task(task.name).preset


def test_the_study_of_samuel_has_the_tasks_epochs_and_trials_of_the_paper() -> None:
    samuel, paper = (read_plan(STUDIES / f"{name}.toml", []) for name in ("samuel-frozenlake", "paper"))
    assert samuel.tasks == paper.tasks
    assert (samuel.epochs, samuel.trials) == (paper.epochs, paper.trials)
    assert [system.parameters.get("version") for system in samuel.systems] == [1, 2, 2, None]


def paper_task(name: str) -> TabularTask:
    """Return one of the paper's tasks."""
    return next(task for task in paper_suite() if task.name == name)


def test_a_plan_without_epochs_takes_what_its_systems_need() -> None:
    plan = read_plan(STUDIES / "pplx-tables.toml", [])
    assert plan.for_systems() is not plan
    assert plan.for_systems().epochs == 44
    assert small_plan().for_systems().epochs == small_plan().epochs
    both = plan.model_copy(
        update={"systems": [*plan.systems, plan.systems[0].model_copy(update={"name": "XCSF"})]}
    )
    assert both.for_systems().epochs == 250
