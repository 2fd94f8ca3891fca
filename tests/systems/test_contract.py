from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, get_args

import gymnasium
import numpy as np
import pytest
from pydantic import ValidationError

from ifthen import NULL_ACTION, RuleSet, System, evaluate, frozen_lake, load
from ifthen.errors import OutputError, ParameterError, RuleError, TaskError
from ifthen.explanation.why import explain
from ifthen.systems.registry import SYSTEMS, system_by_name
from tests.systems.contract import SMALL, every_system, make, meadow, table_of

EVERY_HISTORY = {"epoch", "performance", "exact_performance", "episodes", "steps"}


@every_system
def test_learning_starts_with_an_initial_population_and_adds_epochs(name: str) -> None:
    system = make(name)
    assert system.learn(epochs=0) is system
    assert system.epoch == 0
    assert system.learn(epochs=2).learn(epochs=1).epoch == 3
    assert repr(system) == f"<{name} on FrozenLake-3-0.2-own, seed 7, epoch 3>"


@every_system
def test_history_has_one_row_per_epoch_from_0_on(name: str) -> None:
    history = make(name).learn(epochs=3).history
    assert set(history.columns) >= EVERY_HISTORY
    assert history["epoch"].to_list() == [0, 1, 2, 3]
    for column in {"episodes", "steps", "ga_invocations"} & set(history.columns):
        assert history[column].is_sorted()
        assert history[column][3] > history[column][0]
    assert not any(history[column].has_nulls() for column in history.columns)


@every_system
@pytest.mark.parametrize("noise", ["aligned", "stream"])
def test_the_history_ends_with_the_performance_of_the_ruleset(name: str, noise: Any) -> None:
    system = make(name, noise=noise).learn(epochs=12)
    last = system.history.row(-1, named=True)
    assert last["performance"] == evaluate(system.ruleset, system.task, "sampled", noise).performance
    assert last["exact_performance"] == evaluate(system.ruleset, system.task, "exact").performance
    assert system.watched == last["performance"]
    assert system.history["performance"].n_unique() > 1  # else there was nothing to tell apart


@every_system
def test_the_ruleset_speaks_of_the_tasks_features_and_actions(name: str) -> None:
    system = make(name).learn(epochs=1)
    ruleset = system.ruleset
    assert isinstance(ruleset, RuleSet)
    assert ruleset.features == system.task.features
    assert ruleset.action_names == system.task.action_names
    assert RuleSet.from_dict(ruleset.to_dict()) == ruleset


@every_system
def test_predictions_are_the_rulesets_one_by_one_and_in_batches(name: str) -> None:
    system = make(name).learn(epochs=1)
    states = table_of(system).state_features
    actions, memory = system.predict(states, state="kept", episode_start=np.ones(9), deterministic=False)
    assert memory == "kept"
    assert actions.shape == (len(states),)
    assert actions.tolist() == system.ruleset.predict(states).tolist()
    assert [system.predict(s) for s in states] == [(action, None) for action in actions]
    assert set(actions.tolist()) <= {NULL_ACTION, 0, 1, 2, 3}


@every_system
def test_predict_has_the_signature_that_stable_baselines_calls(name: str) -> None:
    parameters = inspect.signature(SYSTEMS[name].predict).parameters
    assert list(parameters)[1:] == ["observation", "state", "episode_start", "deterministic"]
    assert parameters["state"].default is None
    assert parameters["episode_start"].default is None
    assert parameters["deterministic"].default is True


@every_system
def test_a_trained_system_plays_vector_environments(name: str) -> None:
    system = SYSTEMS[name](frozen_lake(4, 0.0), seed=7, threads=1).learn(epochs=15)
    assert system.history["performance"][-1] > 0
    envs = gymnasium.vector.SyncVectorEnv(
        [lambda: gymnasium.make("ifthen/FrozenLake-v0", size=4, random_start=True)] * 5
    )
    observations, _ = envs.reset(seed=1)
    states, starts, finished = None, np.ones(5, dtype=bool), 0
    for _ in range(200):
        actions, states = system.predict(observations, state=states, episode_start=starts, deterministic=True)
        observations, _, terminated, truncated, _ = envs.step(actions)
        starts = terminated | truncated
        finished += int(starts.sum())
    envs.close()
    assert finished >= 5


@every_system
def test_an_environment_with_a_table_is_as_good_as_a_task(name: str) -> None:
    env = gymnasium.make("ifthen/FrozenLake-v0", size=4, p_slip=0.1)
    system = make(name, task=env).learn(epochs=1)
    assert system.task.name == "ifthen/FrozenLake-v0"
    assert table_of(system).initial_states.tolist() == [0]


@every_system
def test_a_system_trained_on_state_numbers_reads_the_environments_observations(name: str) -> None:
    env = gymnasium.make("CliffWalking-v1")
    system = make(name, task=env).learn(epochs=1)
    state, _ = env.reset(seed=0)
    assert system.predict(state)[0] == system.ruleset.predict([state % 12, state // 12])
    both = system.predict(np.array([state, 24]))[0]
    assert both.tolist() == [system.predict(state)[0], system.ruleset.predict([0, 2])]
    with pytest.raises(RuleError, match="0 to 47"):
        system.predict(48)


@every_system
def test_numpy_numbers_are_as_good_as_pythons(name: str) -> None:
    numbers = {key: np.array(value)[()] for key, value in SMALL[name].items()}
    assert all(isinstance(value, np.generic) for value in numbers.values())
    system = make(name, seed=np.int64(3), **numbers).learn(epochs=np.int64(1))  # type: ignore[arg-type]  # that is what is tested
    assert (system.epoch, system.seed) == (1, 3)
    assert system.parameters == make(name).parameters


@every_system
def test_a_checkpoint_that_cannot_be_written_is_found_before_learning(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    system = make(name)
    with pytest.raises(OutputError, match="cannot write"):
        system.learn(epochs=10, checkpoint=tmp_path / "file" / "run.zip")
    assert not system.started


@every_system
@pytest.mark.parametrize(
    ("thing", "message"),
    [
        ("FrozenLake-4x0", "unknown task"),
        (None, "needs a Gymnasium environment"),
        (3, "needs a Gymnasium environment"),
        ("Pendulum-v1", "action space must be Discrete"),
    ],
)
def test_things_that_are_no_task_are_refused(name: str, thing: Any, message: str) -> None:
    with pytest.raises(TaskError, match=message):
        SYSTEMS[name](thing)


@every_system
def test_the_callback_sees_every_epoch_and_stops_learning_by_returning_false(name: str) -> None:
    seen: list[int] = []

    def until_three(system: System) -> bool:
        seen.append(system.epoch)
        return system.epoch < 3

    assert make(name).learn(epochs=10, callback=until_three).epoch == 3
    assert seen == [1, 2, 3]
    assert make(name).learn(epochs=4, callback=lambda system: None).epoch == 4


@every_system
def test_the_progress_bar_shows_the_last_epoch(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    make(name).learn(epochs=2, progress_bar=True)
    assert "2/2" in capsys.readouterr().out


@every_system
def test_asking_before_learning_says_to_learn_first(name: str, tmp_path: Path) -> None:
    system = make(name)
    for ask in (
        lambda: system.predict([0, 0]),
        lambda: system.ruleset,
        lambda: system.history,
        lambda: system.epoch,
        lambda: system.save(tmp_path / "m.zip"),
    ):
        with pytest.raises(ParameterError, match=r"learnt nothing yet: call learn\(epochs=100\) first"):
            ask()
    assert list(tmp_path.iterdir()) == []
    assert "not started" in repr(system)


@every_system
@pytest.mark.parametrize("unit", ["epochs", "steps", "episodes"])
@pytest.mark.parametrize("number", [-1, 1.0, "3", True])
def test_goals_that_are_no_count_are_refused(name: str, unit: str, number: Any) -> None:
    with pytest.raises(ParameterError, match=f"{unit} must be a whole number"):
        make(name).learn(**{unit: number})


@every_system
def test_a_bare_number_is_refused_with_the_four_things_it_could_mean(name: str) -> None:
    system = make(name)
    with pytest.raises(ParameterError) as refused:
        system.learn(100)
    for meaning in ("epochs", "steps", "episodes", "total_timesteps"):
        assert f"learn({meaning}=100)" in str(refused.value)
    assert not system.started


@every_system
def test_only_one_goal_can_be_given(name: str) -> None:
    with pytest.raises(ParameterError, match=r"one of epochs, steps and episodes, not .*'steps': 5"):
        make(name).learn(epochs=3, steps=5)


@every_system
def test_nothing_said_means_the_systems_default_epochs(name: str) -> None:
    system = make(name)
    whole = system.default_epochs
    assert whole == {"PPL-X": 15, "SAMUEL": 50, "ZCS": 200}.get(name, 250)
    assert system.learn(epochs=2).learn(callback=lambda own: own.epoch < whole + 9).epoch == whole + 2


@every_system
@pytest.mark.parametrize("unit", ["steps", "episodes"])
def test_learning_stops_when_so_many_more_steps_or_episodes_were_made(name: str, unit: str) -> None:
    system = make(name).learn(epochs=2)
    before = system.history[unit][-1]
    system.learn(**{unit: 2_000})  # type: ignore[arg-type]  # mypy cannot know which one
    history = system.history
    assert history[unit][-1] >= before + 2_000
    assert history[unit][-2] < before + 2_000
    assert system.learn(**{unit: 0}).history[unit][-1] == history[unit][-1]  # type: ignore[arg-type]  # as above


@every_system
@pytest.mark.parametrize("every", [0, -1, 0.5])
def test_checkpoints_need_a_distance_of_at_least_one_epoch(name: str, every: Any) -> None:
    with pytest.raises(ParameterError, match="checkpoint_every must be a whole number"):
        make(name).learn(epochs=1, checkpoint_every=every)


@every_system
@pytest.mark.parametrize("threads", [0, -1, 1.0, 2000, True])
def test_impossible_numbers_of_threads_are_refused(name: str, threads: Any, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="threads must be a whole number"):
        make(name, threads=threads)
    make(name).learn(epochs=0).save(tmp_path / "m.zip")
    with pytest.raises(ParameterError, match="threads must be a whole number"):
        load(tmp_path / "m.zip", threads=threads)


@every_system
def test_an_impossible_seed_is_refused(name: str) -> None:
    with pytest.raises(ParameterError, match="seed"):
        make(name, seed=-1)


@every_system
def test_seeds_make_different_systems(name: str) -> None:
    first, other = (make(name, seed=seed).learn(epochs=1).ruleset for seed in (1, 2))
    assert first != other


@every_system
def test_parameters_are_frozen_and_each_is_described(name: str) -> None:
    system = make(name)
    with pytest.raises(ValidationError, match="frozen"):
        system.parameters.noise = "stream"
    for parameter, _, description in SYSTEMS[name].list_parameters():
        assert hasattr(system.parameters, parameter)
        assert description.endswith(".")


@every_system
def test_a_trained_system_explains_its_own_action(name: str) -> None:
    system = make(name).learn(epochs=1)
    for state in table_of(system).decision_states[:3].tolist():
        observation = table_of(system).state_features[state]
        action, _ = system.predict(observation)
        said = explain(system.ruleset, observation)
        assert said.action == (system.task.action_names[action] if action >= 0 else None)


@every_system
def test_an_unknown_parameter_is_refused_with_the_nearest_name(name: str) -> None:
    for parameter, _, _ in SYSTEMS[name].list_parameters():
        wrong: dict[str, Any] = {parameter + "x": 1}
        with pytest.raises(ParameterError, match=f"unknown parameter .*Did you mean '{parameter}'"):
            SYSTEMS[name](meadow(), **wrong)


@every_system
def test_parameters_outside_their_range_are_refused_by_name(name: str) -> None:
    for parameter, field in SYSTEMS[name].Parameters.model_fields.items():
        wrong: list[Any] = [[1], float("nan")]
        wrong += [] if field.annotation is str else ["nonsense"]
        wrong += [] if field.default is None else [None]
        for limit in field.metadata:
            wrong += [limit.ge - 1] if hasattr(limit, "ge") else []
            wrong += [limit.gt] if hasattr(limit, "gt") else []
            wrong += [limit.le * 2 + 1] if hasattr(limit, "le") else []
        # Every parameter has a range or choices.
        assert field.metadata or get_args(field.annotation) or field.annotation is bool
        for value in wrong:
            with pytest.raises(ParameterError, match=rf"^{parameter}(\.0)?: "):
                SYSTEMS[name](meadow(), **{parameter: value})


def test_systems_are_known_by_name_in_any_case() -> None:
    assert [system_by_name(name.lower()) for name in SYSTEMS] == list(SYSTEMS.values())


def test_an_unknown_system_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ParameterError, match=r"unknown system 'PPLST'\. Did you mean 'PPL-ST'"):
        system_by_name("PPLST")
