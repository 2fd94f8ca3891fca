"""The plain C loops that our kernels are measured against: compiled on the spot, called by ctypes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from phases import table_of

from ifthen import PPLST, TabularTask
from ifthen.simulate.table_noise import plan
from ifthen.systems.pittsburgh import Population
from ifthen.tasks.task import Noise

SOURCES = Path(__file__).parent / "c"
# Without contraction into fused operations, as in our kernels: strengths must tie where ours tie.
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC")
Arrays = tuple[NDArray[Any], ...]
POINTER, WHOLE, REAL = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


class WalkArguments(ctypes.Structure):
    """`Walk` of walk.c."""

    _fields_ = (
        *((name, WHOLE) for name in ("states", "actions", "outcomes", "starts", "episodes", "t_max")),
        *((name, POINTER) for name in ("next_state", "reward", "z", "noise", "discounts")),
    )


class LessonArguments(ctypes.Structure):
    """`Lesson` of reinforce.c."""

    _fields_ = (
        *((name, WHOLE) for name in ("states", "actions", "outcomes", "starts", "features", "rules")),
        *((name, WHOLE) for name in ("t_max", "rollouts")),
        *((name, REAL) for name in ("eta", "x0", "gamma")),
        *((name, POINTER) for name in ("next_state", "reward", "z", "vectors", "points", "cuts")),
    )


def find_gcc() -> str:
    """Return the path of gcc, or stop where there is none."""
    gcc = shutil.which("gcc")
    if gcc is None:
        raise SystemExit("The comparison with C needs gcc, which is not on the PATH: install it first.")
    return gcc


def compiled(name: str) -> ctypes.CDLL:
    """Compile `name`.c with gcc into a temporary folder and load it."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / f"{name}.so"
        command = [find_gcc(), *FLAGS, "-o", str(library), str(SOURCES / f"{name}.c"), "-lm"]
        process = subprocess.run(command, check=False, capture_output=True, text=True)
        if process.returncode:
            raise SystemExit(f"gcc could not compile {name}.c:\n{process.stderr}")
        return ctypes.CDLL(str(library))


def address(array: NDArray[Any]) -> int:
    """Return where a contiguous array lies."""
    if not array.flags.c_contiguous:
        raise ValueError(f"an array of shape {array.shape} must be contiguous to be handed to C.")
    return array.ctypes.data


class CWalk:
    """Plays policies of a task on z in plain C.

    Args:
        library: walk.c, compiled.
        task: the task; only the last step of an episode may carry reward.
        episodes: how many episodes of z to play, from the first on; all where None.
    """

    def __init__(self, library: ctypes.CDLL, task: TabularTask, episodes: int | None = None) -> None:
        shared, model = plan(task), task.dynamics
        if not shared.sparse:
            raise ValueError(f"walk.c looks rewards up at the end of episodes, but {task.name} has others.")
        self._walk = library.walk_policies
        self._walk.argtypes, self._walk.restype = [POINTER, WHOLE, POINTER, WHOLE, POINTER, POINTER], None
        self.outcomes = np.empty(len(task.z) * task.t_max, dtype=np.uint8)
        draw = library.draw_outcomes
        draw.argtypes, draw.restype = [ctypes.c_uint64, POINTER, WHOLE, WHOLE, POINTER], None
        n = self.outcomes.size
        draw(int(shared.key), address(shared.cuts), len(shared.cuts), n, address(self.outcomes))
        # Kept, so that they outlive the addresses in the arguments.
        self._arrays: Arrays = (
            model.next_state,
            model.reward,
            shared.starts,
            self.outcomes,
            shared.discounts,
        )
        self._arguments = WalkArguments(
            *model.next_state.shape,
            shared.distinct_starts,
            len(task.z) if episodes is None else episodes,
            task.t_max,
            *(address(array) for array in self._arrays),
        )

    def __call__(
        self, policies: NDArray[np.int16], noise: Noise
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return performance and steps of policy tables `(n, D)`."""
        performance, steps = np.empty(len(policies)), np.empty(len(policies), dtype=np.int64)
        self._walk(
            ctypes.addressof(self._arguments),
            len(policies),
            address(policies),
            int(noise == "stream"),
            address(performance),
            address(steps),
        )
        return performance, steps


class CReinforce:
    """Reinforces populations of a PPL-ST in plain C.

    Args:
        library: reinforce.c, compiled.
        system: gives the task and the parameters; its payoff is the discounted return.
    """

    def __init__(self, library: ctypes.CDLL, system: PPLST) -> None:
        task, parameters = table_of(system), system.parameters
        if parameters.payoff != "return":
            raise ValueError(
                f"reinforce.c knows the discounted return only, not payoff={parameters.payoff!r}."
            )
        model, cuts = task.dynamics, plan(task).cuts
        self._reinforce = library.reinforce_all
        self._reinforce.argtypes = [POINTER, WHOLE, ctypes.c_uint64, POINTER, POINTER, POINTER, POINTER]
        self._reinforce.restype = None
        self._arrays: Arrays = (
            model.next_state,
            model.reward,
            model.starts,
            model.states,
            model.points,
            cuts,
        )
        self._arguments = LessonArguments(
            *model.next_state.shape,
            len(model.starts),
            len(task.features),
            parameters.idv_size,
            task.t_max,
            parameters.num_reinf_rollouts,
            parameters.eta,
            parameters.x0,
            task.gamma,
            *(address(array) for array in self._arrays),
        )

    def __call__(self, population: Population, key: np.uint64) -> NDArray[np.int64]:
        """Reinforce a population in place; return the steps of each individual, `(n,)`."""
        steps = np.empty(len(population.bounds), dtype=np.int64)
        self._reinforce(
            ctypes.addressof(self._arguments),
            len(steps),
            int(key),
            address(population.bounds),
            address(population.actions),
            address(population.learnt),
            address(steps),
        )
        return steps
