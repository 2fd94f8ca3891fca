"""The GPU: whether there is one, memory on it, and how kernels are compiled for it.

Kernels of the GPU call the very functions that the CPU plays with: one choice, one episode, one update.
Numba compiles these a second time, for the device. Here is what it needs for that:
- a way to say no: without a device, a driver or the package numba-cuda, `find_device` says why;
- a twin's step as a function of the device, where the CPU's kernels call it by its address;
- arithmetic as the CPU's: every product is rounded before it is added to something. By default a GPU does
  both at once (fused multiply-add), which gives other last bits.

With NUMBA_ENABLE_CUDASIM=1 Numba runs the kernels in Python, thread by thread, for tests without a device.
Then arrays stay where they are.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from numba.core import config as _config
from numba.core.errors import NumbaError

from ifthen.errors import warn
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.tabular_task import TabularTask
from ifthen.tasks.task import Task
from ifthen.tasks.twin import StepFunction, Twin, call_step

Backend = Literal["auto", "cpu", "cuda"]
"""What plays a population: the CPU, the GPU, or the GPU where there is one."""
SCRATCH_BYTES = 2**31
"""The most memory that a launch takes for what it works with; larger populations are played in parts."""
T = TypeVar("T")
settings: Any = _config  # a part of Numba without types
THREADS, WARP = (4, 2) if settings.ENABLE_CUDASIM else (128, 32)
"""Threads of a block: in general, and at most where each has much to do alone."""
PROCESSORS = 264
"""Blocks that keep a device busy: two for each of its multiprocessors."""
FAST_BYTES = 48 * 1024
"""The fast memory that every device gives to a block of threads."""
MOST_STATES = 2**15 - 1
"""The most states that a table of short numbers can name."""
_launching = threading.Lock()


class Device(NamedTuple):
    """A GPU."""

    name: str
    compute_capability: tuple[int, int]
    memory: int
    """Bytes."""

    def __str__(self) -> str:
        major, minor = self.compute_capability
        return f"{self.name}, {self.memory / 2**30:.0f} GiB, compute capability {major}.{minor}"


def simulated() -> bool:
    """Return whether Numba runs the kernels of the GPU in Python."""
    return bool(settings.ENABLE_CUDASIM)


@functools.cache
def find_device() -> Device | str:
    """Return the GPU, or why there is none to use."""
    if simulated():
        return Device("Numba's simulator of a GPU", (0, 0), 0)
    if settings.DISABLE_JIT:
        return "NUMBA_DISABLE_JIT is set, so nothing is compiled"
    if importlib.util.find_spec("numba_cuda") is None:
        return "the package numba-cuda is not installed (pip install 'numba-cuda[cu13]')"
    try:
        cuda = _cuda()
        if not cuda.is_available():
            return "no GPU of NVIDIA, or no driver for it, was found"
        device = cuda.get_current_device()
        name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
        return Device(
            name, tuple(device.compute_capability), int(cuda.current_context().get_memory_info()[1])
        )
    except Exception as problem:  # whatever a driver that does not work raises
        return f"the GPU does not answer ({type(problem).__name__}: {problem})"


def objection(task: EnvTask, twin: Twin | None) -> str:
    """Return why an environment cannot be played on a GPU; "" if it can."""
    if twin is None:
        return f"{task.name} has no compiled twin: it is played in Python"
    if task.disturbances:
        return f"{task.name} is disturbed, which only the CPU's twins can be"
    if not isinstance(twin.function, StepFunction):
        return f"the twin of {twin.name} is compiled code, and a GPU needs its Python function (twin_step)"
    return ""


def is_wanted(backend: Backend, problem: str = "") -> bool:
    """Return whether to play on the GPU; warns where it was asked for and cannot be had.

    Args:
        backend: what the user asks for.
        problem: why the task cannot be played on a GPU; "" if it can.
    """
    if backend == "cpu":
        return False
    device = problem or find_device()
    if isinstance(device, str) and backend == "cuda":
        warn(f"backend is 'cuda', but {device}. The CPU plays instead.")
    return not isinstance(device, str)


class Attempt:
    """Plays on the GPU until it fails, and on the CPU from then on."""

    def __init__(self) -> None:
        self._given_up = False

    def __call__(self, on_gpu: Callable[[], T], on_cpu: Callable[[], T]) -> T:
        """Return what the GPU gives; what the CPU gives, after a warning, where the GPU cannot."""
        if not self._given_up:
            try:
                return on_gpu()
            except device_errors() as problem:
                self._given_up = True
                words = str(problem).strip().splitlines() or [type(problem).__name__]
                warn(f"the GPU failed ({words[0][:200]}). The CPU plays from here on.")
        return on_cpu()


@functools.cache
def device_errors() -> tuple[type[Exception], ...]:
    """Return the errors that a GPU raises: too little memory, or code that it cannot run."""
    if simulated():
        return (MemoryError,)
    driver, error = (importlib.import_module(f"numba.cuda.cudadrv.{name}") for name in ("driver", "error"))
    numba_cuda_errors = importlib.import_module("numba.cuda.core.errors")  # numba-cuda has errors of its own
    return (
        MemoryError,
        driver.CudaAPIError,
        driver.LinkerError,
        error.CudaSupportError,
        error.NvvmError,
        NumbaError,
        numba_cuda_errors.NumbaError,
    )


def memory_slices(n: int, bytes_each: int) -> Iterator[slice]:
    """Yield slices that cover `range(n)`, each of which fits into the memory for one launch."""
    size = max(1, SCRATCH_BYTES // max(1, bytes_each))
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


class GpuKernel(Protocol):
    """A kernel that was compiled for the GPU."""

    def __getitem__(self, shape: tuple[Any, ...], /) -> Callable[..., None]:
        """Return what runs it with so many blocks and threads, in a queue, with so much fast memory."""


class Queue(Protocol):
    """A queue of work of the GPU."""

    def synchronize(self) -> None:
        """Wait until all work that stands in it is done."""


GpuStream = Queue | Literal[0]
"""The queue that work stands in; 0 is the one that all share."""


def n_blocks(items: int, threads: int = THREADS) -> int:
    """Return how many blocks of threads give every item a thread."""
    return max(1, -(-items // threads))


def _cuda() -> Any:
    """Return Numba's part for GPUs, which takes a while to load."""
    # Queues of work that share a connection wait for each other. There are 8 connections unless one asks.
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")
    return importlib.import_module("numba.cuda")


def launch_for(kernel: GpuKernel, n: int, *arguments: object, stream: GpuStream = 0) -> None:
    """Run a kernel with a thread for each of n items; few items are spread over many blocks."""
    threads = max(1, min(WARP, n // PROCESSORS))
    launch(kernel, n_blocks(n, threads), threads, *arguments, stream=stream)


def lanes_in_block(n_states: int, outcomes: int) -> int:
    """Return how many policies fit into the fast memory of a block of threads; 0 where none does."""
    if n_states > MOST_STATES:
        return 0
    return min(WARP, FAST_BYTES // (2 * n_states * outcomes))


def table_lanes(task: Task) -> int:
    """Return how many policies of a task fit into that memory; 0 where it is no table, or a large one."""
    if not isinstance(task, TabularTask):
        return 0
    return lanes_in_block(len(task.decision_states), len(task.probability))


def launch(
    kernel: GpuKernel,
    grid: int | tuple[int, ...],
    threads: int,
    *arguments: object,
    stream: GpuStream = 0,
    shared_bytes: int = 0,
) -> None:
    """Run a kernel; its arguments are numbers, arrays of the GPU and tuples of these.

    Args:
        kernel: the kernel.
        grid: how many blocks of threads.
        threads: how many threads in a block.
        arguments: what the kernel takes.
        stream: the queue of the GPU that it stands in; work in other queues may be done at the same time.
        shared_bytes: the fast memory that each block gets.
    """
    with _launching, exact_arithmetic():
        kernel[grid, threads, stream, shared_bytes](*arguments)


class Repeated:
    """A launch that is made over and over: its arrays are handed over once, and only numbers change.

    Handing over a hundred arrays takes Numba a millisecond, which is longer than most launches. The driver
    takes them as a list of plain numbers, which is kept here (numba-cuda 0.30).

    Args:
        kernel: the kernel.
        grid: how many blocks of threads.
        threads: how many threads in a block.
        arguments: what the kernel takes before the numbers.
        stream: the queue of the GPU that it stands in.
        shared_bytes: the fast memory that each block gets.
    """

    def __init__(
        self,
        kernel: GpuKernel,
        grid: int,
        threads: int,
        *arguments: object,
        stream: GpuStream = 0,
        shared_bytes: int = 0,
    ) -> None:
        self.kernel, self.stream, self._arguments = kernel, stream, arguments
        self._shape = grid, threads, stream, shared_bytes
        self._relaunch: Callable[..., None] | None = None
        self._handed_over: list[Any] = []

    def __call__(self, *numbers: int) -> None:
        """Launch the kernel with whole numbers as its last arguments."""
        if self._relaunch is None:
            with _launching, exact_arithmetic(), self._keeping():
                self.kernel[self._shape](*self._arguments, *numbers)
            return
        for argument, number in zip(self._handed_over[-len(numbers) :], numbers, strict=True):
            argument.value = number
        self._relaunch(*self._handed_over)

    @contextmanager
    def _keeping(self) -> Iterator[None]:
        """Keep what the driver is given."""
        if simulated():
            yield
            return
        module = _dispatcher()
        original = module.launch

        def launch(*handed_over: Any) -> None:
            original(*handed_over)
            self._relaunch, self._handed_over = original, list(handed_over)

        module.launch = launch
        try:
            yield
        finally:
            module.launch = original


def repeated_for(kernel: GpuKernel, n: int, *arguments: object, stream: GpuStream = 0) -> Repeated:
    """Return the launch of a kernel with a thread for each of n items, as `launch_for` makes it."""
    threads = max(1, min(WARP, n // PROCESSORS))
    return Repeated(kernel, n_blocks(n, threads), threads, *arguments, stream=stream)


def _dispatcher() -> Any:
    """Return the part of Numba that launches kernels."""
    return importlib.import_module("numba.cuda.dispatcher")


@contextmanager
def exact_arithmetic() -> Iterator[None]:
    """Let kernels that are compiled here round every product, and every sum, as the CPU does.

    Numba has no option for it: the one that its compiler takes is put in (numba-cuda 0.30). Linking must not
    compile anew, as it would not know of the option. Numba's warning that a small population does not fill
    the device is left out.
    """
    if simulated():
        yield
        return
    module = _dispatcher()
    original, low_occupancy_warnings = module.compile_cuda, module.config.CUDA_LOW_OCCUPANCY_WARNINGS

    def without_fused(*arguments: Any, **keywords: Any) -> Any:
        options = {**keywords.pop("nvvm_options"), "fma": 0}
        return original(*arguments, **{**keywords, "nvvm_options": options, "lto": False})

    module.compile_cuda, module.config.CUDA_LOW_OCCUPANCY_WARNINGS = without_fused, 0
    try:
        yield
    finally:
        module.compile_cuda, module.config.CUDA_LOW_OCCUPANCY_WARNINGS = original, low_occupancy_warnings


def gpu_kernel(function: Callable[..., None], max_registers: int | None = None) -> GpuKernel:
    """Compile a function for the GPU on first use, as what `launch` starts there.

    Args:
        function: the kernel.
        max_registers: the most registers of a thread; as many as the compiler likes where not given. The more
            a thread takes, the fewer threads run at a time.
    """
    if simulated():
        compiled: GpuKernel = _cuda().jit(function)
    else:
        _register_gpu_step()
        compiled = _cuda().jit(max_registers=max_registers)(function)
    return compiled


def gpu_function(function: Callable[..., Any]) -> Any:
    """Compile a function for the GPU on first use, as what kernels there call."""
    return _cuda().jit(function, device=True)


@functools.cache
def _register_gpu_step() -> None:
    """Say how a step of a twin is taken on the GPU: by its function, where the CPU has its address."""
    overload = importlib.import_module("numba.cuda.extending").overload

    def typed(address: Any, states: Any, lane: Any, action: Any, points: Any, rewards: Any) -> Any:
        def compiled(address: Any, states: Any, lane: Any, action: Any, points: Any, rewards: Any) -> Any:
            return address(states[lane], action, points[lane], rewards) != 0

        return compiled

    overload(call_step, target="cuda")(typed)
