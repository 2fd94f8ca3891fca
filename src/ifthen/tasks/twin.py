"""Compiled twins: the dynamics of an environment as one C function, called by its address.

An environment written in Python plays some hundred thousand steps a second; the same arithmetic, compiled,
plays tens of millions. A twin is that arithmetic as a function with C's calling convention:

    int64 step(double *state, int64 action, double *observation, double *reward)

It updates the state in place, writes the observation (rounded as the observation space rounds) and the
reward, and returns 1 if the episode terminated, else 0. Actions count from 0. It must be a pure function of
state and action. Kernels get the function's address: they are compiled once for all twins, and a twin may be
written in any language.

Episodes begin in the state that the real environment's `reset(seed=…)` gives: twins have no reset.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # it has no types
from numba import types
from numba.core import cgutils as _cgutils
from numba.core import config as _config
from numba.core.base import BaseContext
from numba.core.typing.context import BaseContext as TypingContext
from numba.core.typing.templates import Signature
from numba.extending import overload
from numpy.typing import ArrayLike

from ifthen.errors import TaskError
from ifthen.jit import code_kept_for, intrinsic
from ifthen.rules.arrays import Floats

if TYPE_CHECKING:
    from ifthen.tasks.env_like import AnyEnv

# Parts of Numba without types.
settings: Any = _config
code: Any = _cgutils
_NUMBERS = types.CPointer(types.float64)  # type: ignore[no-untyped-call]  # Numba has no types here
SIGNATURE = types.int64(_NUMBERS, types.int64, _NUMBERS, _NUMBERS)
_POINTER = ctypes.POINTER(ctypes.c_double)
PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int64, _POINTER, ctypes.c_int64, _POINTER, _POINTER)


class Row(Protocol):
    """Numbers by position: an array, or what compiled code is given in its place."""

    def __getitem__(self, position: int, /) -> Any:
        """Return a number."""

    def __setitem__(self, position: int, number: float, /) -> None:
        """Replace a number."""


class StepFunction:
    """A step written in Python, compiled when its address is first asked for; made by `twin_step`."""

    def __init__(self, function: Callable[..., int]) -> None:
        self.function = function
        functools.update_wrapper(self, function)

    def __call__(self, state: Row, action: int, observation: Row, reward: Row) -> int:
        """Take a step in plain Python; the arguments are arrays, or anything with an index."""
        return self.function(state, action, observation, reward)

    @functools.cached_property
    def _callback(self) -> Any:
        """Return the C function, which lives as long as this object."""
        if settings.DISABLE_JIT:
            return PROTOTYPE(self.function)
        with code_kept_for(Path(self.function.__code__.co_filename)) as cache:
            return numba.cfunc(SIGNATURE, cache=cache, error_model="numpy", forceinline=True)(self.function)

    @functools.cached_property
    def address(self) -> int:
        """The address of the compiled function."""
        callback = self._callback
        return (
            int(ctypes.cast(callback, ctypes.c_void_p).value or 0)
            if settings.DISABLE_JIT
            else int(callback.address)
        )


def twin_step(function: Callable[..., int]) -> StepFunction:
    """Make the step of a twin from a Python function `step(state, action, observation, reward)`.

    The function reads and writes `state[0]`, `observation[0]`, …, writes `reward[0]` and returns 1 if the
    episode terminated, else 0. It is compiled by Numba on first use and kept on disk; division by zero gives
    infinity or NaN, as in NumPy.
    """
    return StepFunction(function)


def present_state(env: AnyEnv) -> ArrayLike:
    """Return `env.unwrapped.state`, where Gymnasium's classic environments keep their state."""
    core: Any = env.unwrapped
    state: ArrayLike = core.state
    return state


def as_shown(state: Floats) -> Floats:
    """Return a state as environments show it that observe their state in 32-bit numbers."""
    return state.astype(np.float32).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Twin:
    """The compiled copy of an environment's dynamics.

    Args:
        name: what it is a twin of.
        state_size: how many numbers the state has.
        function: its step, made by `twin_step`, or the address of a C function.
        start: reads the state from the real environment, as it is after `reset` and after every `step`.
        of_class: "module:Class" of the environment without wrappers. The twin then plays this class only, in
            no other wrappers than those of `gymnasium.make`. "" allows any class and any wrappers.
        assumes: attributes of the environment without wrappers, and the values that the twin relies on.
        observe: gives the observation of a state `(state_size,)`, for starts that no reset seed gives; None
            where nobody needs them.
    """

    name: str
    state_size: int
    function: StepFunction | int
    start: Callable[[Any], ArrayLike] = present_state
    of_class: str = ""
    assumes: Mapping[str, Any] = field(default_factory=dict)
    observe: Callable[[Floats], Floats] | None = None

    @property
    def step(self) -> int:
        """The address of the step function."""
        return self.function if isinstance(self.function, int) else self.function.address

    def state_of(self, env: AnyEnv) -> Floats:
        """Return the real environment's present state `(state_size,)`."""
        state = np.array(self.start(env), dtype=np.float64)
        if state.shape != (self.state_size,):
            raise TaskError(
                f"the twin of {self.name} has a state of {self.state_size} numbers, but its `start` gave an "
                f"array of shape {state.shape}. Give the Twin the `state_size` that `start` returns."
            )
        return state


@intrinsic
def _call_by_address(
    typing: TypingContext,
    address: types.Type,
    states: types.Type,
    lane: types.Type,
    action: types.Type,
    points: types.Type,
    rewards: types.Type,
) -> Any:
    """Call a step function with the given rows of the arrays, in compiled code."""

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        pointer = ir.DoubleType().as_pointer()
        integer = ir.IntType(64)
        function_type = ir.FunctionType(integer, [pointer, integer, pointer, pointer])
        function_address, lane_index, action_value = arguments[0], arguments[2], arguments[3]

        def row(position: int) -> ir.Value:
            make = context.make_array(signature.args[position])  # type: ignore[no-untyped-call]  # no types
            array = make(context, builder, arguments[position])
            stride = code.unpack_tuple(builder, array.strides)[0]
            return code.pointer_add(builder, array.data, builder.mul(lane_index, stride))

        function = builder.inttoptr(function_address, function_type.as_pointer())
        return builder.call(function, [row(1), action_value, row(4), row(5)])

    arrays = (states, points, rewards)
    if any(not isinstance(a, types.Array) or a.dtype != types.float64 for a in arrays):
        return None
    return types.int64(types.int64, states, types.int64, types.int64, points, rewards), generate


def call_step(address: int, states: Floats, lane: int, action: int, points: Floats, rewards: Floats) -> bool:
    """Take a step in row `lane` of the arrays; return whether it terminated (used if nothing is compiled)."""
    rows = (
        ctypes.cast(array.ctypes.data + lane * array.strides[0], _POINTER)
        for array in (states, points, rewards)
    )
    state, point, reward = rows
    return bool(PROTOTYPE(address)(state, int(action), point, reward))


@overload(call_step)
def _compiled_call_step(
    address: object, states: object, lane: object, action: object, points: object, rewards: object
) -> Callable[..., bool]:
    """Return the compiled form of `call_step`."""

    def compiled(
        address: object, states: object, lane: object, action: object, points: object, rewards: object
    ) -> bool:
        ended: int = _call_by_address(address, states, lane, action, points, rewards)
        return ended != 0

    return compiled
