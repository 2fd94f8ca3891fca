from __future__ import annotations

import copy
import dataclasses
import enum
import math
from typing import Any

import cloudpickle  # type: ignore[import-untyped]  # it has no types
import gymnasium
import numpy as np
import pytest
from gymnasium import spaces, wrappers

import ifthen
from ifthen import parse_rules
from ifthen.environments import make
from ifthen.environments.make import as_task, env_task, task_by_name
from ifthen.environments.twin_registry import twin_of
from ifthen.errors import IfthenWarning, TaskError
from ifthen.explanation.trace import trace
from ifthen.randomness import below, stream
from ifthen.rules.feature import Feature
from ifthen.tasks import probe
from ifthen.tasks.flatten import FlatSpace
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.tabular_task import TabularTask
from tests.envs import ENDLESS, KINDS, LIMIT, WALK, Walk
from tests.naive_envs import flatten


class Steady(gymnasium.Env[Any, Any]):
    """Gives what its observation space allows, in episodes of three steps; nobody has registered it."""

    def __init__(self, space: spaces.Space[Any], actions: spaces.Space[Any] | None = None) -> None:
        self.observation_space = copy.deepcopy(space)  # which has random numbers of its own
        self.action_space = actions or spaces.Discrete(2)
        self.time = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self.time = 0
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.time += 1
        return self.observation_space.sample(), 1.0, self.time == 3, False, {}


def steady(space: spaces.Space[Any], **given: Any) -> EnvTask:
    return env_task(lambda: Steady(space), **given)


def ranges_of(task: EnvTask) -> dict[str, tuple[float, float]]:
    return {feature.name: (feature.low, feature.high) for feature in task.features}


# Names and ranges


@pytest.mark.parametrize(
    ("environment", "features", "actions", "sources"),
    [
        (
            "CartPole-v1",
            ("cart position", "cart velocity", "pole angle", "pole velocity"),
            ("push left", "push right"),
            "known known known known",
        ),
        (
            "MountainCar-v0",
            ("position", "velocity"),
            ("push left", "coast", "push right"),
            "declared declared",
        ),
        (
            "Acrobot-v1",
            ("cos θ1", "sin θ1", "cos θ2", "sin θ2", "velocity θ1", "velocity θ2"),
            ("torque −1", "torque 0", "torque +1"),
            "declared declared declared declared declared declared",
        ),
        ("Blackjack-v1", ("own sum", "dealer shows", "usable ace"), ("stick", "hit"), "known known known"),
    ],
)
def test_gymnasiums_own_environments_have_names(
    environment: str, features: tuple[str, ...], actions: tuple[str, ...], sources: str
) -> None:
    task = env_task(environment)
    assert tuple(ranges_of(task)) == features
    assert task.action_names == actions
    assert task.origin == {"environment": environment, "ranges": sources}
    assert all(feature.clips for feature in task.features)
    assert (task.name, task.environment, task.factory) == (environment, environment, None)
    assert task.t_max == (gymnasium.spec(environment).max_episode_steps or 1000)


def test_declared_ranges_are_taken_as_they_were_written() -> None:
    assert ranges_of(env_task("MountainCar-v0")) == {"position": (-1.2, 0.6), "velocity": (-0.07, 0.07)}
    blackjack = env_task("Blackjack-v1")
    assert ranges_of(blackjack) == {"own sum": (4, 21), "dealer shows": (1, 10), "usable ace": (0, 1)}
    assert [feature.kind for feature in blackjack.features] == ["integer"] * 3
    assert blackjack.episodes == 5000


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_other_environments_have_features_named_by_their_spaces(kind: str) -> None:
    task = env_task(WALK, options={"kind": kind})
    leaves = FlatSpace.of(KINDS[kind]).leaves
    assert tuple(ranges_of(task)) == tuple(leaf.name for leaf in leaves)
    assert [feature.kind for feature in task.features] == [leaf.kind for leaf in leaves]
    assert task.action_names == ("action 0", "action 1", "action 2")
    for feature, leaf in zip(task.features, leaves, strict=True):
        if math.isfinite(leaf.low):
            assert (feature.low, feature.high) == (leaf.low, leaf.high)
    assert task.origin["ranges"].split() == ["probed" if kind == "box" else "declared"] * len(leaves)


def test_names_and_ranges_can_be_given() -> None:
    task = env_task(
        "CartPole-v1",
        name="pole",
        feature_names=["x", "v", "angle", "spin"],
        ranges={"v": (-2, 2), "angle": [-0.1, 0.1]},
        action_names=["west", "east"],
    )
    assert task.name == "pole"
    assert task.action_names == ("west", "east")
    found = ranges_of(task)
    assert list(found) == ["x", "v", "angle", "spin"]
    assert (found["x"], found["v"], found["angle"]) == ((-2.4, 2.4), (-2.0, 2.0), (-0.1, 0.1))
    assert task.features[2].unit == "rad"
    assert task.origin["ranges"] == "known given given known"


def test_whole_features_can_be_given() -> None:
    features = (Feature("a", 0.0, 1.0, "real"), Feature("b", -3.0, 3.0, "real", "m", clips=True))
    task = env_task("MountainCar-v0", features=features)
    assert task.features == (Feature("a", 0.0, 1.0, "real", clips=True), features[1])
    assert task.origin["ranges"] == "given given"
    ruleset = parse_rules("IF a <= 0.5 THEN push left\nOTHERWISE coast", task=task)
    assert ruleset.predict(task.features_of(np.array([-9, 0], dtype=np.float32))) == 0
    assert len(trace(ruleset, task).steps) == 200


def test_features_of_whole_numbers_are_for_numbers_that_are_whole() -> None:
    with pytest.raises(TaskError, match="feature 'b' is of whole numbers, but f1 is a real number"):
        env_task("MountainCar-v0", features=(Feature("a", 0.0, 1.0, "real"), Feature("b", -3, 3)))
    names: Any = ("a", "b")
    with pytest.raises(TaskError, match="must be of the class Feature"):
        env_task("MountainCar-v0", features=names)
    wide = steady(spaces.Box(0, 2**40, (1,), np.int64), features=[Feature("n", 0, 7)])
    assert wide.features == (Feature("n", 0, 7, clips=True),)


# The probe


class Ladder(gymnasium.Env[Any, Any]):
    """A step up or down, with noise; the second number is fuel, the third one whether much of it was used.

    Args:
        edge: an episode ends this far from where it begins.
        n_actions: beyond the first two, they do nothing.
    """

    action_space: Any
    observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float64)

    def __init__(self, edge: float = math.inf, n_actions: int = 2) -> None:
        self.edge, self.action_space = edge, spaces.Discrete(n_actions)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        self.place, self.fuel = 0.0, 400.0
        return self.observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.place += (-1.0, 1.0, *[0.0] * 100)[int(action)] + self.np_random.normal(0, 0.2)
        self.fuel -= 1.0
        return self.observation(), 0.0, abs(self.place) > self.edge, False, {}

    def observation(self) -> Any:
        return np.array([self.place, self.fuel, float(self.fuel < 390)])


gymnasium.register("Ladder-v0", "tests.environments.test_make:Ladder", max_episode_steps=200)


def documented_action(episode: int, step: int, n_actions: int) -> int:
    """Return what the documented probe does: one action throughout, held random ones, or independent ones."""
    turn = episode // 2
    if episode % 2 == 0:
        return turn % n_actions if n_actions <= 10 else turn * n_actions // 10
    if turn % 2 == 1:
        return int(below(stream(0, "probe", episode), step, n_actions))
    key, begin, action, until = stream(0, "probe held", episode), 1, 0, 1
    while begin <= step + 1:
        action, until = int(below(key, 2 * begin, n_actions)), begin + 2 ** int(below(key, 2 * begin + 1, 7))
        begin = until
    return action


def oracle_of_the_probe(environment: str, t_max: int, **options: Any) -> list[list[list[float]]]:
    """Return what the documented probe meets, episode by episode, in a real environment."""
    env: Any = gymnasium.make(environment, **options)
    episodes: list[list[list[float]]] = []
    n_actions, left = int(env.action_space.n), 5000
    for episode in range(20):
        observation, _ = env.reset(seed=4_000_000 + episode)
        rows, over = [flatten(env.observation_space, observation)], False
        allowed = min(t_max, max(625, left // (20 - episode)), left)
        while left and not over and len(rows) <= allowed:
            action = documented_action(episode, len(rows) - 1, n_actions)
            observation, _, terminated, truncated, _ = env.step(action)
            rows.append(flatten(env.observation_space, observation))
            over = terminated or truncated
        episodes += [rows] if left else []
        left -= len(rows) - 1
    return episodes


@pytest.mark.parametrize("environment", [WALK, ENDLESS, "Ladder-v0"])
def test_probed_ranges_are_the_documented_quantiles_a_quarter_wider_to_two_digits(environment: str) -> None:
    task = env_task(environment)
    met = np.vstack(oracle_of_the_probe(environment, task.t_max))
    assert len(met) <= 5020
    sources = task.origin["ranges"].split()
    assert "probed" in sources
    for d, (feature, source) in enumerate(zip(task.features, sources, strict=True)):
        if source == "probed" and feature.name != "f1":  # f1 is a clock, or whole numbers from 0
            low, high = np.quantile(met[:, d], [0.01, 0.99])
            low, high = low - (high - low) / 4, high + (high - low) / 4
            for end, exact in ((feature.low, low), (feature.high, high)):
                assert end == float(f"{end:.1e}")
                assert abs(end - exact) <= 10.0 ** (math.floor(math.log10(abs(exact))) - 1)
            assert feature.low <= low
            assert feature.high >= high


@pytest.mark.parametrize("n_actions", [2, 30])
def test_probed_ranges_reach_where_held_actions_lead(n_actions: int) -> None:
    place, _, _ = env_task(lambda: Ladder(n_actions=n_actions), t_max=200).features
    far = 100 if n_actions == 2 else 12  # of thirty actions, only two move
    assert place.low <= -far
    assert place.high >= far


def test_the_range_of_a_clock_covers_episodes_that_last_longer_than_random_ones() -> None:
    _, fuel, is_used = env_task(lambda: Ladder(edge=60), t_max=200).features
    assert 100 <= fuel.low <= 200
    assert 400 <= fuel.high <= 600
    assert (is_used.low, is_used.high) == (-0.25, 1.3)  # rises once, and is no clock


@pytest.mark.parametrize(
    ("lengths", "ending", "full"),
    [
        ((10, 30), "terminated", 120),
        ((10, 300), "terminated", 500),
        ((30, 30), "terminated", 30),
        ((10, 30), "truncated", 30),
        ((625, 625), "broken off", 500),
    ],
)
def test_how_long_a_full_episode_is(lengths: tuple[int, ...], ending: str, full: int) -> None:
    step = probe.RandomStep(np.zeros(1), 0.0, ending == "terminated", ending == "truncated")
    assert probe.full_length([[step] * (length + 1) for length in lengths], 500) == full


def test_a_probe_takes_5000_steps_at_most_and_breaks_off_episodes_that_would_take_most_of_them() -> None:
    n_steps = list[int]()

    class Counted(Ladder):
        def reset(self, **given: Any) -> tuple[Any, Any]:
            n_steps.append(0)
            return super().reset(**given)

        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            n_steps[-1] += 1
            return super().step(action)

    probe.probed_ranges(Counted(), FlatSpace.of(Ladder.observation_space), 10_000)
    assert n_steps == [625] * 8
    n_steps.clear()
    probe.probed_ranges(Counted(), FlatSpace.of(Ladder.observation_space), 200)
    assert n_steps == [200] * 20


def test_the_probe_is_the_same_every_time_and_leaves_the_given_environment_alone() -> None:
    env: Any = gymnasium.make("CartPole-v1")
    before, _ = env.reset(seed=5)
    env.unwrapped.np_random.random()
    state = env.unwrapped.np_random.bit_generator.state
    first, second = env_task(env), env_task("CartPole-v1")
    assert first.features == second.features
    assert env_task(Ladder).features == env_task(Ladder()).features
    assert env.unwrapped.np_random.bit_generator.state == state
    assert env.unwrapped.state.astype(np.float32).tolist() == before.tolist()


def test_nothing_is_probed_where_all_ranges_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: Any) -> Any:
        raise AssertionError("the environment was probed")

    monkeypatch.setattr(make, "probed_ranges", forbidden)
    env_task("MountainCar-v0")
    env_task("CartPole-v1")
    env_task(WALK, ranges={"f0": (-3, 3), "f1": (0, 2)})
    with pytest.raises(AssertionError, match="was probed"):
        env_task(WALK, ranges={"f0": (-3, 3)})


@pytest.mark.parametrize(
    ("low", "high", "kept"),
    [(-np.inf, 5.0, (None, 5.0)), (-2.0, np.inf, (-2.0, None)), (-3.0e38, 3.0e38, (None, None))],
)
def test_a_declared_end_is_kept_and_only_the_other_probed(
    low: float, high: float, kept: tuple[Any, Any]
) -> None:
    task = env_task(
        lambda: wrappers.TransformObservation(
            Walk(), lambda seen: np.clip(seen, -2, 5), spaces.Box(low, high, (2,), np.float64)
        )
    )
    for feature in task.features:
        assert feature.low < feature.high
        assert feature.low == kept[0] or (kept[0] is None and -4 < feature.low < 1)
        assert feature.high == kept[1] or (kept[1] is None and 0 < feature.high < 9)


@pytest.mark.parametrize(
    ("space", "inside"),
    [
        (spaces.Box(-3e6, 2e6, (2,), np.float64), (-3e6, 2e6)),
        (spaces.Box(0, 2**31 - 2, (2,), np.int32), (0, 2**31 - 2)),
        (spaces.Box(-1_000_002, -1_000_001, (1,), np.int32), (-1_000_002, -1_000_001)),
    ],
)
def test_a_probed_range_does_not_exceed_the_declared_one(
    space: spaces.Space[Any], inside: tuple[float, float]
) -> None:
    for feature in steady(space).features:
        assert inside[0] <= feature.low < feature.high <= inside[1]


@pytest.mark.parametrize("value", [0.0, -7.5, 1e-310, 1e305, -3e307])
def test_a_number_that_never_changes_still_gets_a_range(value: float) -> None:
    class Constant(Steady):
        def reset(self, **_: Any) -> tuple[Any, Any]:
            self.time = 0
            return np.array([value]), {}

        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            self.time += 1
            return np.array([value]), 1.0, self.time == 3, False, {}

    task = env_task(lambda: Constant(spaces.Box(-np.inf, np.inf, (1,), np.float64)))
    assert task.features[0].low < task.features[0].high


@pytest.mark.filterwarnings("ignore:.*not within the observation space")
@pytest.mark.parametrize("wrong", ["nan", "infinite"])
@pytest.mark.parametrize("wrong_at", [0, 3])
def test_a_probe_that_meets_no_finite_number_says_which_feature_and_step(wrong: str, wrong_at: int) -> None:
    number = {"nan": "nan", "infinite": "inf"}[wrong]
    message = rf"observed {number} for f0 at step {wrong_at} after reset\(seed=4000000\)"
    with pytest.raises(TaskError, match=message):
        env_task(WALK, options={"wrong": wrong, "wrong_at": wrong_at})


def test_a_probe_of_an_environment_that_fails_says_where() -> None:
    with pytest.raises(TaskError, match=r"RuntimeError\('a wheel came off'\) at step 5 after reset\(seed=40"):
        env_task(WALK, options={"wrong": "crash"})
    with pytest.raises(TaskError, match=r"RuntimeError\('no way to begin'\) at step 0"):
        env_task(WALK, options={"wrong": "reset"})


# Floors, truncation, actions


@pytest.mark.parametrize(
    ("environment", "given", "floor"),
    [
        ("CartPole-v1", {}, -1.0),
        ("CartPole-v1", {"options": {"sutton_barto_reward": True}}, -501.0),
        ("MountainCar-v0", {}, -201.0),
        ("MountainCar-v0", {"t_max": 50}, -51.0),
        ("MountainCar-v0", {"gamma": 0.9}, -11.0),
        ("MountainCar-v0", {"gamma": 0.999}, -201.0),
        ("MountainCar-v0", {"options": {"max_episode_steps": 1000}}, -1001.0),
        ("MountainCar-v0", {"floor": -5}, -5.0),
        (WALK, {}, -1e12),
    ],
)
def test_the_floor_is_below_any_return(environment: str, given: dict[str, Any], floor: float) -> None:
    assert env_task(environment, **given).floor == pytest.approx(floor)


def test_truncation_is_the_environments_or_given_or_1000() -> None:
    assert env_task(WALK).t_max == LIMIT
    assert env_task(WALK, t_max=7).t_max == 7
    assert env_task(ENDLESS).t_max == 1000
    assert env_task(ENDLESS, t_max=5000).t_max == 5000
    assert env_task("CartPole-v1", options={"max_episode_steps": 900}).t_max == 900
    assert env_task("CartPole-v1", options={"max_episode_steps": -1}).t_max == 1000
    with pytest.raises(
        TaskError, match=r'after 500 steps, so t_max cannot be 501: .*"max_episode_steps": 501'
    ):
        env_task("CartPole-v1", t_max=501)


@pytest.mark.parametrize("limit", [40, 900, -1])
def test_a_limit_that_an_environment_was_made_with_stays(limit: int) -> None:
    task = env_task(gymnasium.make("CartPole-v1", max_episode_steps=limit))
    assert task.t_max == (limit if limit > 0 else 1000)
    assert task.environment == "CartPole-v1"
    assert task.make().spec.max_episode_steps == (limit if limit > 0 else None)


@pytest.mark.parametrize("given", [1, "push right", np.int64(1)])
def test_the_default_action_is_given_by_number_or_name(given: Any) -> None:
    assert env_task("CartPole-v1", default_action=given).default_action == 1
    assert env_task("CartPole-v1").default_action is None


# Wrapped, unregistered, unusual


def test_a_wrapped_environment_is_copied_with_its_wrappers_and_nothing_is_taken_as_known() -> None:
    env = wrappers.TransformReward(gymnasium.make("CartPole-v1"), _minus)
    task = env_task(env)
    assert (task.environment, task.floor) == ("", -1e12)
    assert task.origin["ranges"].split()[1] == "probed"
    copy = task.make()
    copy.reset(seed=0)
    assert copy.step(0)[1] == -1.0
    assert twin_of(task) is None


def _minus(reward: Any) -> Any:
    return -reward


def test_names_and_ranges_of_a_known_environment_are_not_put_on_other_observations() -> None:
    env = wrappers.RescaleObservation(gymnasium.make("MountainCar-v0"), np.float32(0), np.float32(1))
    assert ranges_of(env_task(env)) == {"f0": (0.0, 1.0), "f1": (0.0, 1.0)}


def test_wrappers_that_only_record_are_left_out_and_nothing_is_shown(tmp_path: Any) -> None:
    env = gymnasium.make("CartPole-v1", render_mode="rgb_array")
    for given in (env, wrappers.RecordEpisodeStatistics(env)):
        task = env_task(given)
        assert (task.environment, task.options, task.factory) == ("CartPole-v1", {}, None)
        assert task.make().render_mode is None
        assert twin_of(task) is not None
    walk = env_task(gymnasium.make(WALK))
    assert walk.environment == WALK
    assert walk.make().spec.id == WALK


def test_a_time_limit_put_around_an_environment_counts() -> None:
    task = env_task(wrappers.TimeLimit(gymnasium.make(WALK), 4))
    assert task.t_max == 4


def test_a_wrapper_that_hides_how_it_was_made_is_copied_with_its_environment() -> None:
    class Mine(gymnasium.Wrapper[Any, Any, Any, Any]):
        def step(self, action: Any) -> Any:
            observation, _, *rest = super().step(action)
            return observation, 7.0, *rest

    task = env_task(Mine(gymnasium.make(WALK)))
    assert (task.environment, task.t_max) == ("", LIMIT)
    copy = task.make()
    copy.reset(seed=0)
    assert copy.step(0)[1] == 7.0


def test_options_of_an_environment_are_kept_and_objects_make_it_one_of_a_function() -> None:
    task = env_task(gymnasium.make(WALK, kind="integers", start=2))
    assert (task.environment, task.options) == (WALK, {"kind": "integers", "start": 2})
    assert task.make().unwrapped.kind == "integers"
    blackjack = env_task(gymnasium.make("Blackjack-v1", sab=True))
    assert (blackjack.options["sab"], blackjack.factory) == (True, None)


def episode(env: Any, seed: int) -> list[Any]:
    """Return what an environment gives from a reset seed on, with the same actions every time."""
    found: list[Any] = [np.asarray(env.reset(seed=seed)[0]).tolist()]
    while len(found) < 2 or not found[-1][2]:
        observation, *rest, _ = env.step(len(found) % 3)
        found.append((np.asarray(observation).tolist(), *rest))
    return found


def test_an_unregistered_environment_comes_by_a_function_or_as_it_is() -> None:
    played = Walk()
    episode(played, 3)
    for given in (Walk, Walk(), played):
        task = env_task(given)
        assert (task.name, task.environment, task.t_max) == ("Walk", "", 1000)
        assert isinstance(task.make(), Walk)
        for seed in (0, 1, 2**40):
            assert episode(task.make(), seed) == episode(Walk(), seed)
        elsewhere = cloudpickle.loads(cloudpickle.dumps(task))  # as worker processes get it
        assert episode(elsewhere.make(), 5) == episode(Walk(), 5)


def test_copies_do_not_follow_the_original_and_a_copy_is_new_every_time() -> None:
    original = Walk()
    task = env_task(original)
    original.endless = True
    first, second = task.make(), task.make()
    assert not first.unwrapped.endless
    assert first is not second
    first.reset(seed=1)
    first.step(0)
    assert second.unwrapped.time == Walk().time


def test_copies_do_not_record(tmp_path: Any) -> None:
    task = env_task(wrappers.RecordEpisodeStatistics(Walk()))
    assert isinstance(task.make(), Walk)


def wrapped_walk() -> Any:
    """Make an environment in a wrapper that has a function of its own."""
    return wrappers.TransformReward(Walk(), lambda reward: 2 * float(reward))


def test_an_entry_point_may_wrap_what_it_makes() -> None:
    environment = "ifthen_tests/Wrapped-v0"
    entry: Any = wrapped_walk
    gymnasium.register(environment, entry_point=entry, max_episode_steps=30)
    for given in (environment, gymnasium.make(environment)):
        task = env_task(given)
        made = task.make()
        made.reset(seed=1)
        plain = Walk()
        plain.reset(seed=1)
        assert made.step(0)[1] == 2 * plain.step(0)[1]
        assert task.make() is not made


class Meaningful(Walk):
    """Knows what its actions mean."""

    def get_action_meanings(self) -> list[str]:
        return ["LEFT", "STAY", "RIGHT"]


class Listed(Walk):
    """Lists its actions as MiniGrid does."""

    class actions(enum.IntEnum):  # noqa: N801  # as it is called there
        """Its actions."""

        left, stay, right = range(3)


class Mistaken(Walk):
    """Knows of too few actions."""

    def get_action_meanings(self) -> list[str]:
        return ["LEFT", "RIGHT"]


def test_actions_are_called_as_the_environment_calls_them() -> None:
    assert env_task(Meaningful).action_names == ("left", "stay", "right")
    assert env_task(Listed).action_names == ("left", "stay", "right")
    assert env_task(Mistaken).action_names == ("action 0", "action 1", "action 2")
    assert env_task(Meaningful, action_names="abc").action_names == ("a", "b", "c")


class Held(Walk):
    """Cannot be copied."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("no copies")


def test_an_environment_that_cannot_be_copied_is_played_itself_one_episode_at_a_time() -> None:
    held = Held()
    with pytest.warns(IfthenWarning, match=r"Held cannot be copied \(TypeError: no copies\).*A function"):
        task = env_task(held)
    assert task.lanes == 1
    assert task.make().unwrapped is held
    everywhere = [[(feature.low, feature.high) for feature in task.features]]
    rules = ifthen.DecisionList(everywhere, [0], task.features, task.action_names)
    seeds = range(8)
    alone = ifthen.evaluate(rules, task, seeds=seeds)
    made = env_task(Held)
    assert made.lanes == 0
    np.testing.assert_array_equal(
        alone.returns, ifthen.evaluate(rules, made.replaced(features=task.features), seeds=seeds).returns
    )


class Clumsy(Walk):
    """Loses a setting when it is copied."""

    def __deepcopy__(self, memory: Any) -> Any:
        return Walk()

    def step(self, action: Any) -> Any:
        observation, reward, *rest = super().step(action)
        return observation, reward - 5.0, *rest

    def __reduce__(self) -> Any:
        return Walk, ()


def test_an_environment_whose_copies_behave_differently_is_played_itself() -> None:
    with pytest.warns(IfthenWarning, match="its copies behave differently"):
        assert isinstance(env_task(Clumsy()).make().unwrapped, Clumsy)


# Refusals


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (spaces.Text(5), "at least one number"),
        (spaces.Sequence(spaces.Discrete(2)), "not Sequence"),
        (spaces.Graph(spaces.Discrete(2), None), "not Graph"),
        (spaces.Box(0, 255, (84, 84, 3), np.uint8), "at most 1,000 numbers, but .* which is an image"),
        (
            spaces.Dict({"a": spaces.Tuple((spaces.Discrete(2), spaces.Graph(spaces.Discrete(2), None)))}),
            "at 'a.part1' .*not Graph",
        ),
    ],
)
def test_observations_that_are_no_row_of_numbers_are_refused(space: Any, message: str) -> None:
    with pytest.raises(TaskError, match=message):
        steady(space)


@pytest.mark.parametrize("actions", [spaces.Box(-1, 1), spaces.MultiDiscrete([2, 2]), spaces.MultiBinary(2)])
def test_actions_that_are_no_list_are_refused(actions: Any) -> None:
    with pytest.raises(TaskError, match="action space must be Discrete, not "):
        env_task(lambda: Steady(spaces.Discrete(2), actions))
    with pytest.raises(TaskError, match="action space must be Discrete, not Box"):
        task_by_name("Pendulum-v1")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"feature_names": ["x"]}, "1 feature names .* for 2 numbers"),
        ({"action_names": ["x"]}, "1 action names .* for 3 actions"),
        ({"features": (Feature("x", 0, 1),)}, "1 features were given for 2 numbers"),
        ({"ranges": {"positoin": (0, 1)}}, "no feature. Did you mean 'position'"),
        ({"ranges": {"position": (1, 0)}}, "must not exceed"),
        ({"ranges": {"position": (0, math.inf)}}, "range of position must be a number"),
        ({"ranges": {"position": (0, math.nan)}}, "range of position must be a number"),
        ({"ranges": {"position": (0, "x")}}, "range of position must be a number"),
        ({"ranges": {"position": 3}}, "range of position must be its least and its largest"),
        ({"ranges": {"position": ()}}, "range of position must be its least and its largest"),
        ({"default_action": "cost"}, "'cost' is no action. Did you mean 'coast'"),
        ({"default_action": 3}, "default_action must be a whole number from 0 to 2"),
        ({"gamma": 2.0}, "gamma must be a number"),
        ({"gamma": "x"}, "gamma must be a number"),
        ({"t_max": 0}, "t_max must be a whole number"),
        ({"t_max": "x"}, "t_max must be a whole number"),
        ({"episodes": 0}, "episodes must be a whole number"),
        ({"options": {"goal": [1]}}, "cannot be made"),
        ({"options": {"nonsense": 1}}, "cannot be made: .*nonsense"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_naming_them(given: dict[str, Any], message: str) -> None:
    with pytest.raises(TaskError, match=message):
        env_task("MountainCar-v0", **given)


def test_the_range_of_an_integer_feature_is_whole() -> None:
    with pytest.raises(TaskError, match=r"range of own sum must be whole numbers, not \(4.0, 20.5\)"):
        env_task("Blackjack-v1", ranges={"own sum": (4, 20.5)})
    assert ranges_of(env_task("Blackjack-v1", ranges={"own sum": (5.0, 20)}))["own sum"] == (5, 20)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ("NoSuch-v0", "'NoSuch-v0' cannot be made"),
        ("no_such_package_of_mine:Env-v0", "needs the package 'no_such_package_of_mine'"),
        (3, "needs a Gymnasium environment, its id .* not 3"),
        (None, "needs a Gymnasium environment"),
        (lambda: 3, "must make a Gymnasium environment, not 3"),
        (lambda: 1 / 0, r"the function .* failed: ZeroDivisionError"),
    ],
)
def test_what_is_no_environment_is_refused(env: Any, message: str) -> None:
    with pytest.raises(TaskError, match=message):
        as_task(env) if not isinstance(env, str) else env_task(env)


def test_options_go_with_ids_only() -> None:
    with pytest.raises(TaskError, match="options are for environments that are given by their id"):
        env_task(gymnasium.make(WALK), options={"kind": "bits"})


# Names of tasks


def test_a_task_is_what_the_environment_allows_a_table_or_episodes() -> None:
    assert isinstance(as_task("CliffWalking-v1"), TabularTask)
    assert isinstance(as_task(gymnasium.make("CliffWalking-v1")), TabularTask)
    for given in ("MountainCar-v0", gymnasium.make("MountainCar-v0"), env_task("MountainCar-v0")):
        task = as_task(given)
        assert isinstance(task, EnvTask)
        assert task.features == env_task("MountainCar-v0").features
    own = env_task(WALK)
    assert as_task(own) is own


def test_a_package_before_the_id_is_imported_and_not_kept() -> None:
    task = task_by_name(f"tests.envs:{WALK}")
    assert isinstance(task, EnvTask)
    assert task.environment == WALK
    assert dataclasses.replace(task, factory=None).make().spec.id == WALK
