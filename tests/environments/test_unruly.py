"""Environments that are not what they seem: wrapped, changed, or not keeping to their own spaces."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces, wrappers
from gymnasium.envs.classic_control import MountainCarEnv
from gymnasium.envs.toy_text import BlackjackEnv, CliffWalkingEnv

from ifthen import PPLDL, XCSF, evaluate, parse_rules
from ifthen.environments.from_table import has_table
from ifthen.environments.make import as_task, env_task, task_by_name
from ifthen.environments.twin_registry import twin_of
from ifthen.errors import IfthenWarning, TaskError
from ifthen.explanation.trace import trace
from ifthen.runs.task_settings import EnvironmentSettings
from ifthen.simulate.vector_simulator import VectorSimulator
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.tabular_task import TabularTask
from tests.envs import WALK, Walk, random_lists, task_of

# Tables


def hundredfold(reward: Any) -> Any:
    return 100 * reward


def test_a_table_is_not_believed_through_a_wrapper_that_may_change_things() -> None:
    env = wrappers.TransformReward(gymnasium.make("CliffWalking-v1"), hundredfold)
    task = PPLDL(env).task
    assert isinstance(task, EnvTask)
    played = task.make()
    played.reset(seed=0)
    assert played.step(0)[1] == -100
    assert isinstance(as_task(wrappers.RecordEpisodeStatistics(gymnasium.make("Taxi-v4"))), TabularTask)
    assert isinstance(as_task(wrappers.TimeLimit(gymnasium.make("CliffWalking-v1"), 9)), TabularTask)


def test_taxi_with_a_fickle_passenger_is_played() -> None:
    task = as_task(gymnasium.make("Taxi-v4", fickle_passenger=True))
    assert isinstance(task, EnvTask)
    settings = EnvironmentSettings(environment="Taxi-v4", options={"fickle_passenger": True}, episodes=3)
    assert settings.make_task().z.shape == (3,)


OUTCOMES = [(1.0, 0, 0.0, True)]


@pytest.mark.parametrize(
    ("table", "is_one"),
    [
        ({0: {0: OUTCOMES, 1: OUTCOMES}, 1: {0: OUTCOMES, 1: OUTCOMES}}, True),
        ({"gravity": 9.8}, False),
        ({0: 9.8}, False),
        ({0: {0: 0.5}}, False),
        ({0: {0: [(1.0, 0)]}}, False),
        ({0: {}}, False),
        ({1: {0: OUTCOMES}}, False),
        ({0: {0: OUTCOMES}, 1: {0: OUTCOMES, 1: OUTCOMES}}, False),
        ({}, False),
        ([OUTCOMES], False),
    ],
)
def test_a_table_is_known_by_its_form(table: Any, is_one: bool) -> None:
    class WithP(Walk):
        P = table

    assert has_table(WithP()) == is_one


def test_an_attribute_called_p_that_is_no_table_makes_no_tabular_task() -> None:
    gymnasium.register(
        "ifthen_tests/Parameters-v0", entry_point="tests.environments.test_unruly:WithParameters"
    )
    assert isinstance(task_by_name("ifthen_tests/Parameters-v0"), EnvTask)


class WithParameters(Walk):
    P = {"gravity": 9.8}  # noqa: RUF012  # as somebody may write it


@pytest.mark.parametrize("by_settings", [False, True])
def test_environments_that_are_made_to_read_a_table_are_closed(
    by_settings: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Any] = []
    monkeypatch.setattr(CliffWalkingEnv, "close", lambda self: closed.append(1))
    name = "CliffWalking-v1"
    task = EnvironmentSettings(environment=name).make_task() if by_settings else task_by_name(name)
    assert isinstance(task, TabularTask)
    assert len(closed) == 1


# Changed after they were made


@pytest.mark.parametrize(
    ("environment", "attribute", "value"),
    [
        ("CartPole-v1", "gravity", 0.5),
        ("CartPole-v1", "kinematics_integrator", "semi-implicit"),
        ("Acrobot-v1", "LINK_MASS_1", 2.0),
        ("CartPole-v1", "_sutton_barto_reward", True),
        (WALK, "endless", True),
    ],
)
@pytest.mark.parametrize("played", [False, True])
def test_an_environment_changed_after_it_was_made_is_copied_as_it_is(
    environment: str, attribute: str, value: Any, played: bool
) -> None:
    env: Any = gymnasium.make(environment)
    if played:
        env.reset(seed=1)
    setattr(env.unwrapped, attribute, value)
    task = env_task(env)
    assert task.environment == ""
    assert getattr(task.make().unwrapped, attribute) == value
    assert twin_of(task) is None


def test_a_changed_environment_that_cannot_be_copied_is_played_itself() -> None:
    environment = "ifthen_tests/Held-v0"
    gymnasium.register(environment, entry_point="tests.environments.test_unruly:Counting")
    env: Any = gymnasium.make(environment)
    env.unwrapped.endless = True
    with pytest.warns(IfthenWarning, match="cannot be copied"):
        task = env_task(env)
    assert task.make().unwrapped is env.unwrapped


def test_a_function_may_change_what_it_makes() -> None:
    def light() -> Any:
        env: Any = gymnasium.make("CartPole-v1")
        env.unwrapped.gravity = 0.5
        return env

    task = env_task(light)
    assert task.make().unwrapped.gravity == 0.5
    assert twin_of(task) is None


class Counting(Walk):
    """Remembers how often it began and whether it ever ended, and cannot be copied."""

    begun, ended = 0, False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        self.begun += 1
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> Any:
        answer = super().step(action)
        self.ended = self.ended or answer[2]
        return answer

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("no copies")


@pytest.mark.parametrize("environment", ["CartPole-v1", "Blackjack-v1", "LunarLander-v3", WALK, "Counting"])
def test_an_environment_that_was_only_played_is_as_it_was_made(environment: str) -> None:
    if environment == "LunarLander-v3":
        pytest.importorskip("Box2D")
    if environment == "Counting":
        environment = "ifthen_tests/Counting-v0"
        gymnasium.register(environment, entry_point="tests.environments.test_unruly:Counting")
    env: Any = gymnasium.make(environment)
    env.action_space.seed(0)
    for seed in range(4):
        env.reset(seed=seed)
        while not any(env.step(env.action_space.sample())[2:4]):
            pass
    env.close()
    assert env_task(env).environment == environment


# What is known of classes


def test_of_subclasses_only_names_are_taken_as_known() -> None:
    class Costly(MountainCarEnv):
        pass

    class Other(BlackjackEnv):
        pass

    costly = env_task(Costly)
    assert [f.name for f in costly.features] == ["position", "velocity"]
    assert (costly.floor, costly.episodes) == (-1e12, 20)
    other = env_task(Other)
    assert other.action_names == ("stick", "hit")
    assert [(f.low, f.high) for f in other.features] == [(0, 31), (0, 10), (0, 1)]
    assert (env_task(MountainCarEnv).floor, env_task(BlackjackEnv).episodes) == (-1001.0, 5000)


# Types and forms of what is observed


class Rounded(gymnasium.Env[Any, Any]):
    """Observes 64-bit numbers, a tenth first, where its space says 32 bits; action 1 is right there."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-5, 5, (2,), np.float32)
        self.action_space = spaces.Discrete(2)
        self.time = 0

    def seen(self) -> Any:
        return np.array([0.1 * (1 + self.time % 3), float(self.np_random.uniform(-1, 1))])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        self.time = 0
        return self.seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.time += 1
        return self.seen(), float(action * self.time), self.time == 12, False, {}


def played_alone(task: EnvTask, seed: int, choose: Any) -> float:
    """Return what a plain loop over the environment gets."""
    env, total, over = Rounded(), 0.0, False
    observation, _ = env.reset(seed=seed)
    while not over:
        observation, reward, over, _, _ = env.step(int(choose(observation)))
        total += reward
    return total


def test_numbers_wider_than_their_space_says_are_the_same_everywhere() -> None:
    task = env_task(Rounded, episodes=5)
    rules = parse_rules(
        "IF f0 <= 0.1 THEN action 1\nIF f1 <= 0.25 THEN action 1\nOTHERWISE action 0", task=task
    )
    tenth = np.array([0.1, 0.9])
    assert rules.predict(task.features_of(tenth)) == 0  # as 32 bits, a tenth is a little more
    assert rules.predict(task.features_of(np.array([tenth, tenth]))).tolist() == [0, 0]
    measured = evaluate(rules, task, seeds="training")
    assert measured.returns is not None
    for e, seed in enumerate(task.z.tolist()):
        alone = played_alone(task, seed, lambda seen: rules.predict(task.features_of(seen)))
        assert alone == measured.returns[e] == trace(rules, task, episode=e).total
        assert trace(rules, task, episode=e).steps[0].features["f0"] == float(np.float32(0.1))


def test_a_plain_loop_with_a_systems_actions_gets_what_was_measured() -> None:
    task = env_task(Rounded, episodes=5)
    system = PPLDL(task, pop_size=20, idv_size=6, p_any=0.3, seed=1).learn(epochs=3)
    measured = evaluate(system, task, seeds="training")
    assert measured.returns is not None
    alone = [played_alone(task, seed, lambda seen: system.predict(seen)[0]) for seed in task.z.tolist()]
    assert alone == measured.returns.tolist()


class Wrong(Walk):
    """Answers something else than it should, from some step on."""

    def __init__(self, space: spaces.Space[Any], seen: Any, reward: Any = 0.0, at: int = 0) -> None:
        super().__init__()
        self.observation_space, self.given, self.reward, self.at = space, seen, reward, at

    def observation(self) -> Any:
        self.observation_space.seed(0)
        return self.given if self.time >= self.at else self.observation_space.sample()

    def step(self, action: Any) -> Any:
        seen, _, *rest = super().step(action)
        return seen, self.reward if self.time >= self.at else 0.0, *rest


TWO = spaces.Box(-1, 1, (2,))
WRONG = [
    (TWO, np.zeros(3), 0.0, r"numbers of shape \(2,\) at the observation, not \(3,\)"),
    (
        spaces.Dict({"a": TWO, "b": TWO}),
        {"a": np.zeros(2)},
        0.0,
        r"numbers of shape \(2,\) at b, but one is {'a'",
    ),
    (
        spaces.Box(0, 9, (1,), np.int32),
        np.array([0.5]),
        0.0,
        "numbers of type int32 at the observation, not array",
    ),
    (TWO, None, 0.0, "but one is None"),
    (TWO, np.zeros(2), np.array([1.0, 2.0]), r"rewards must be single numbers, not array\(\[1\., 2\.\]\)"),
    (TWO, np.zeros(2), None, "rewards must be single numbers, not None"),
    (TWO, np.zeros(2), "1", "rewards must be single numbers, not '1'"),
]


@pytest.mark.parametrize(("space", "seen", "reward", "words"), WRONG)
def test_an_environment_that_breaks_its_word_is_refused_before_training(
    space: Any, seen: Any, reward: Any, words: str
) -> None:
    with pytest.raises(TaskError, match=rf"{words}.* \(at step \d after reset\(seed=4000000\)\)"):
        env_task(lambda: Wrong(space, seen, reward))


@pytest.mark.parametrize(("space", "seen", "reward", "words"), WRONG)
def test_an_environment_that_breaks_its_word_later_is_refused_with_step_and_seed(
    space: Any, seen: Any, reward: Any, words: str
) -> None:
    task = task_of(WALK, factory=lambda: Wrong(space, seen, reward, at=4), t_max=20)
    still = random_lists(task, 1, gaps=False)._replace(actions=np.ones((1, 4), dtype=np.int32))
    with pytest.raises(TaskError, match=rf"at step 4 of the episode with reset seed 7: .*{words}"):
        VectorSimulator(task).play(still, np.array([7]))


@pytest.mark.parametrize(("space", "seen", "reward", "words"), [WRONG[0], WRONG[5]])
def test_xcsf_refuses_an_environment_that_breaks_its_word_too(
    space: Any, seen: Any, reward: Any, words: str
) -> None:
    task = task_of(WALK, factory=lambda: Wrong(space, seen, reward, at=4), t_max=20)
    with pytest.raises(TaskError, match=rf"at step \d+ of the episode with reset seed \d+: .*{words}"):
        XCSF(task, pop_limit=50).learn(epochs=1)


@pytest.mark.parametrize("reward", [np.float32(2), 2, True + 1, np.array(2.0), np.array([2.0]), [2]])
def test_rewards_may_be_any_single_number(reward: Any) -> None:
    task = env_task(lambda: Wrong(TWO, np.zeros(2), reward), t_max=3, episodes=2)
    assert VectorSimulator(task).play(random_lists(task, 1, gaps=False), task.z).returns.max() == 6


class WantsNumPy(Walk):
    """Takes actions as `action_space.sample()` gives them, and no others."""

    def step(self, action: Any) -> Any:
        return super().step(action.item())


def test_an_environment_that_wants_numbers_of_numpys_is_told_how_to_take_plain_ones() -> None:
    with pytest.raises(TaskError, match=r"rules give plain ints.*TransformAction\(env, numpy.int64"):
        env_task(WantsNumPy)
    actions = Walk().action_space
    task = env_task(lambda: wrappers.TransformAction(WantsNumPy(), np.int64, actions), t_max=3, episodes=2)
    assert VectorSimulator(task).play(random_lists(task, 1, gaps=False), task.z).returns.size


def test_an_environment_whose_reset_takes_no_seed_is_told_what_reset_takes() -> None:
    old = type("Old", (Walk,), {"reset": lambda self: np.zeros(2)})
    with pytest.raises(TaskError, match=r"unexpected keyword argument 'seed'.*seed=None, options=None\)"):
        env_task(old)


@pytest.mark.parametrize(
    ("method", "answer", "words"),
    [
        ("reset", lambda self, **_: np.zeros(2), "reset must return an observation and a dictionary"),
        (
            "step",
            lambda self, _: (np.zeros(2), 0.0, False, {}),
            "step must return an observation, a reward, term",
        ),
    ],
)
def test_answers_of_another_form_are_refused(method: str, answer: Any, words: str) -> None:
    changed = type("Old", (Walk,), {method: answer})
    with pytest.raises(TaskError, match=words):
        env_task(changed)


def test_environments_of_one_task_must_observe_the_same() -> None:
    made: list[int] = []

    def growing() -> Any:
        made.append(1)
        return Wrong(spaces.Box(-1, 1, (2,) if len(made) < 4 else (3,)), np.zeros(2))

    task = task_of(WALK, factory=growing)
    with pytest.raises(TaskError, match="its environment has 3 and 3: it is another one"):
        VectorSimulator(task).play(random_lists(task, 1), np.arange(5))
