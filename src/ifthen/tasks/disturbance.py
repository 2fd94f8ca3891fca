"""Disturbances between a policy and its environment: noisy, late and lost readings, late and held actions.

They work on the row of features that rules see, and on the number of the action. They are pure functions of
the reset seed and the step: the same episode meets the same disturbances whatever plays it, and another
strength of noise meets the same draws. What they remember is one row of numbers, the memory. An environment
that is stepped in Python keeps it beside itself (`ifthen.simulate.lanes`). A compiled twin has it before its
own state: `disturbed_step` is the step of such a twin and calls the step of the twin inside, so that nothing
of a task's rules is written twice.

In every step the sensor measures (bias, noise, rounding of whole numbers), the reading travels (delay), and
it may be lost (drop), in which case the last one is read again. Values beyond a feature's range count as its
edge, as ever. Until the first action has travelled, the environment gets the first action.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # it has no types
from numba import types
from numba.core.base import BaseContext
from numba.core.typing.context import BaseContext as TypingContext
from numba.core.typing.templates import Signature
from numba.extending import overload

from ifthen.checks import real_number, whole_number
from ifthen.errors import TaskError, nearest
from ifthen.jit import intrinsic, lean_kernel
from ifthen.randomness import normal, stream, uniform
from ifthen.rules.arrays import Floats
from ifthen.rules.feature import Feature
from ifthen.tasks.twin import PROTOTYPE, Row, Twin, twin_step

MOST_STEPS = 1000
"""The most steps that readings and actions may be late, or an action may be held."""


class Disturbance(NamedTuple):
    """One kind of disturbance."""

    words: str
    """What its strength is."""
    high: float
    """The largest strength."""
    sweep: tuple[float, ...]
    """The strengths that a sweep tries."""
    off: int = 0
    """The strength that changes nothing."""
    is_whole: bool = False
    """Whether strengths are whole numbers."""


SHARES = (0.01, 0.02, 0.05, 0.1, 0.2)
"""The strengths that a sweep tries where they are shares."""
STEPS = (1, 2, 3, 5, 8)
"""The strengths that a sweep tries where they are numbers of steps."""
DISTURBANCES: dict[str, Disturbance] = {
    "noise": Disturbance("deviation of the noise, as a share of each feature's range", 10, SHARES),
    "bias": Disturbance(
        "a constant error with a sign drawn for each feature and episode, as a share of its range", 10, SHARES
    ),
    "delay": Disturbance("steps by which readings are late", MOST_STEPS, STEPS, is_whole=True),
    "drop": Disturbance("chance that a reading is lost and the last one held", 1, (0.1, 0.2, 0.4, 0.6, 0.8)),
    "action_delay": Disturbance("steps by which actions are late", MOST_STEPS, STEPS, is_whole=True),
    "action_repeat": Disturbance("steps for which an action is held", MOST_STEPS, (2, 3, 4, 6, 8), 1, True),
}
"""Every disturbance by its name."""
SWEEPS = {name: disturbance.sweep for name, disturbance in DISTURBANCES.items()}
"""The strengths that a sweep tries, by name."""


def checked_disturbances(strengths: Any) -> dict[str, float]:
    """Return strengths by name, in the order of `DISTURBANCES` and without those that change nothing.

    Raises:
        TaskError: for a name or a strength that there is not.
    """
    if not isinstance(strengths, Mapping):
        raise TaskError(
            f"disturbances must be strengths by name, such as {{'noise': 0.05}}, not {strengths!r}."
        )
    for name in strengths:
        if name not in DISTURBANCES:
            raise TaskError(f"there is no disturbance {name!r}.{nearest(str(name), DISTURBANCES)}")
    active: dict[str, float] = {}
    for name, disturbance in DISTURBANCES.items():
        value = strengths.get(name, disturbance.off)
        if disturbance.is_whole and isinstance(value, float) and value.is_integer():
            value = int(value)
        check = whole_number if disturbance.is_whole else real_number
        strength = check(name, value, disturbance.off, int(disturbance.high), TaskError)
        if strength != disturbance.off:
            active[name] = strength
    return active


def in_words(strengths: Mapping[str, float]) -> str:
    """Return strengths as "noise 0.05, delay 2"; "" for none."""
    return ", ".join(f"{name} {strength:g}" for name, strength in strengths.items())


ADDRESS, KEY, TIME, COMMAND, FEATURES = range(5)
"""Indices of the memory: the twin's address, the episode's stream, the step, the last action, the number of
features."""
NOISE, BIAS, DELAY, DROP, ACTION_DELAY, ACTION_REPEAT = range(5, 11)
"""Indices of the memory: the strength of each disturbance."""
HEAD = 11
"""The size of the memory's head. Behind it: the features' widths, whether they are whole numbers, what the
environment shows, the reading that is held, the readings on their way, the actions on their way, and the
state of a twin."""


def first_memory(
    strengths: Mapping[str, float],
    features: Sequence[Feature],
    seed: int,
    address: int = 0,
    state: Sequence[float] | Floats = (),
) -> Floats:
    """Return the memory at the beginning of an episode; `sense` makes its first reading.

    Args:
        strengths: of the disturbances, by name.
        features: what is observed.
        seed: the reset seed of the episode.
        address: of the step of the twin inside, if there is one.
        state: of that twin.
    """
    all_strengths = {name: strengths.get(name, disturbance.off) for name, disturbance in DISTURBANCES.items()}
    key = int(stream(seed, "disturbance")) >> 11  # a whole number that a float holds exactly
    head = [address, key, 0, 0, len(features), *all_strengths.values()]
    n_slots = (int(all_strengths["delay"]) + 3) * len(features) + int(all_strengths["action_delay"]) + 1
    widths = [feature.high - feature.low for feature in features]
    is_integer = [float(feature.is_integer) for feature in features]
    return np.array([*head, *widths, *is_integer, *[0.0] * n_slots, *state], dtype=np.float64)


def true_points(memories: Floats, features: int) -> Floats:
    """Return what environments show, `(m, features)`, given the memories of m episodes behind `sense`."""
    start = HEAD + 2 * features
    return memories[:, start : start + features]


@lean_kernel
def actions_at(memory: Row) -> int:
    """Return where the actions on their way begin."""
    return HEAD + (5 + int(memory[DELAY])) * int(memory[FEATURES])


@lean_kernel
def commanded(memory: Row, action: int) -> int:
    """Return the action that the environment gets when the policy chooses `action`; a step begins."""
    t, late, ring_at = int(memory[TIME]), int(memory[ACTION_DELAY]), actions_at(memory)
    if t % int(memory[ACTION_REPEAT]) == 0:
        memory[COMMAND] = float(action)
    memory[ring_at + t % (late + 1)] = memory[COMMAND]
    memory[TIME] = float(t + 1)
    return int(memory[ring_at + max(t - late, 0) % (late + 1)])


@lean_kernel
def sense(memory: Row, point: Row) -> None:
    """Replace what the environment shows by what the policy reads."""
    t, d, late = int(memory[TIME]), int(memory[FEATURES]), int(memory[DELAY])
    key, noise, bias = np.uint64(memory[KEY]), memory[NOISE], memory[BIAS]
    true_at, held_at, ring_at = HEAD + 2 * d, HEAD + 3 * d, HEAD + 4 * d
    write_at, read_at = ring_at + t % (late + 1) * d, ring_at + max(t - late, 0) % (late + 1) * d
    first_draw = d + t * (2 * d + 1)
    lost = t > 0 and uniform(key, first_draw) < memory[DROP]
    for f in range(d):
        value = memory[true_at + f] = point[f]
        if bias > 0.0:
            value += memory[HEAD + f] * (bias if uniform(key, f) < 0.5 else -bias)
        if noise > 0.0:
            value += memory[HEAD + f] * (noise * normal(key, first_draw + 1 + 2 * f))
        memory[write_at + f] = math.floor(value + 0.5) if memory[HEAD + d + f] > 0.0 else value
        if not lost:
            memory[held_at + f] = memory[read_at + f]
        point[f] = memory[held_at + f]


@intrinsic
def _call_behind(
    typing: TypingContext,
    address: types.Type,
    memory: types.Type,
    offset: types.Type,
    action: types.Type,
    point: types.Type,
    reward: types.Type,
) -> Any:
    """Call a step function with the state that stands `offset` numbers behind a pointer, in compiled code."""

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        pointer, integer = ir.DoubleType().as_pointer(), ir.IntType(64)
        function_type = ir.FunctionType(integer, [pointer, integer, pointer, pointer])
        function_address, memory_row, offset_value, action_value, point_row, reward_row = arguments
        function = builder.inttoptr(function_address, function_type.as_pointer())
        return builder.call(
            function, [builder.gep(memory_row, [offset_value]), action_value, point_row, reward_row]
        )

    return types.int64(types.int64, memory, types.int64, types.int64, point, reward), generate


def call_behind(address: int, memory: Any, offset: int, action: int, point: Row, reward: Row) -> int:
    """Take a step in the state behind `memory[offset]` (used if nothing is compiled)."""
    state_address = ctypes.addressof(memory.contents) + 8 * offset
    state = ctypes.cast(state_address, ctypes.POINTER(ctypes.c_double))
    return int(PROTOTYPE(address)(state, action, point, reward))


@overload(call_behind)
def _compiled_call_behind(
    address: object, memory: object, offset: object, action: object, point: object, reward: object
) -> Callable[..., int]:
    """Return the compiled form of `call_behind`."""

    def compiled(
        address: object, memory: object, offset: object, action: object, point: object, reward: object
    ) -> int:
        ended: int = _call_behind(address, memory, offset, action, point, reward)
        return ended

    return compiled


@twin_step
def disturbed_step(state: Row, action: int, observation: Row, reward: Row) -> int:
    """Take a step of the twin inside, by an action that may be late, and read what it shows."""
    twin_state_at = actions_at(state) + int(state[ACTION_DELAY]) + 1
    commanded_action = commanded(state, action)
    ended = call_behind(int(state[ADDRESS]), state, twin_state_at, commanded_action, observation, reward)
    sense(state, observation)
    return ended


def disturbed_twin(twin: Twin, strengths: Mapping[str, float], features: Sequence[Feature]) -> Twin:
    """Return the twin wrapped with disturbances."""
    size = len(first_memory(strengths, features, 0)) + twin.state_size
    return Twin(f"{twin.name} with {in_words(strengths)}", size, disturbed_step)
