"""A study with a GPU: it learns for many trials at once, and the processes of this machine do the rest.

Trials of PPL-DL and PPL-ST on tables that differ in their seeds alone learn side by side on the GPU
(`ifthen.systems.pittsburgh_gpu`). Then each goes to a process, as ever: it takes the trial from where the GPU
has brought it, to its end or to a stop, and writes its files. So the files are those of every engine. Other
trials go to processes at once. Where the GPU fails, processes go on from the last checkpoint.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ifthen.errors import warn
from ifthen.simulate import gpu
from ifthen.study.engines import Crew, Job, Local
from ifthen.study.study_plan import StudyPlan, Trial
from ifthen.study.trial import STOP, Ended, TrialFiles, run_trial, saved_system
from ifthen.systems.learning import Moment

if TYPE_CHECKING:
    from ifthen.systems.pittsburgh_system import PittsburghSystem

AT_ONCE = 32
"""The most batches of trials that share the GPU. Threads of a GPU wait much: another batch fills the gaps."""
SAVING_SHARE = 20
"""Checkpoints take at most this part of the time, and one batch of trials saves at a time."""


class Order(NamedTuple):
    """A trial that is to be run, and where to say how it ended."""

    job: Job
    folder: str
    plan_json: str
    trial: Trial
    ended: Future[Ended | None]


class Saving:
    """Checkpoints of all batches: one batch after the other, and at most a part of the time."""

    def __init__(self) -> None:
        self._lock, self._began, self._spent = threading.Lock(), time.monotonic(), 0.0

    def may_begin(self) -> bool:
        """Return whether a batch may save now; it must, then."""
        within_share = SAVING_SHARE * self._spent <= time.monotonic() - self._began
        return within_share and self._lock.acquire(blocking=False)

    def __enter__(self) -> None:
        self._since = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._spent += time.monotonic() - self._since
        self._lock.release()


@dataclass
class Cuda:
    """A GPU, and processes of this machine; the CPU alone, with a warning, where there is no GPU.

    Args:
        workers: how many processes.
    """

    workers: int

    @contextmanager
    def crew(self, plan: Path) -> Iterator[Crew]:
        """Have the GPU and the processes ready; at the end none is left, whatever it was doing."""
        local = Local(self.workers)
        with local.crew(plan) as processes:
            device = gpu.find_device()
            if isinstance(device, str):
                warn(f"the engine is 'cuda', but {device}. The CPU runs all trials.")
                yield processes
                return
            crew = GpuCrew(local)
            starting = threading.Thread(target=local.start)  # takes seconds, in which the GPU can begin
            starting.start()
            try:
                yield crew
            finally:
                crew.end()
                starting.join()


@dataclass
class GpuCrew:
    """The GPU and the processes behind it."""

    local: Local
    _orders: list[Order] = field(default_factory=list)
    """Trials that are not in a batch yet."""
    _ready: deque[tuple[Order, Moment | None]] = field(default_factory=deque)
    """Trials for the processes, each with where it stands."""
    _running: dict[Future[Any], Order] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ending: threading.Event = field(default_factory=threading.Event)
    _laying_out: threading.Lock = field(default_factory=threading.Lock)
    """Batches are laid out one after the other, so that the first need not wait for the last."""
    _saving: Saving = field(default_factory=Saving)

    def __post_init__(self) -> None:
        self._batches = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="ifthen-gpu")
        self._dispatcher = threading.Thread(target=self._dispatch, daemon=True)
        self._dispatcher.start()

    def end(self) -> None:
        """Begin nothing more, and wait for what the GPU is doing."""
        self._ending.set()
        self._batches.shutdown(wait=True, cancel_futures=True)
        self._dispatcher.join()

    def places(self) -> int:
        """Return room for any number of trials; those that were given so far form batches."""
        with self._lock:
            orders, self._orders = self._orders, []
        if orders:
            self._batches.submit(self._sort, orders)
        return 10**9

    def submit(self, job: Job, folder: str, plan_json: str, trial: tuple[str, str, int]) -> Future[Any]:
        """Have a trial run."""
        order = Order(job, folder, plan_json, Trial(*trial), Future())
        with self._lock:
            if job is run_trial:
                self._orders.append(order)
            else:
                self._ready.append((order, None))
        return order.ended

    def result(self, future: Future[Any]) -> Ended | None:
        """Return how a trial ended, or None where its process has died."""
        ended: Ended | None = future.result()
        return ended

    def _sort(self, orders: Sequence[Order]) -> None:
        """Make batches of the trials that can learn together, and leave the others to the processes."""
        batches: dict[tuple[str, str, str, int], list[tuple[Order, PittsburghSystem]]] = {}
        try:
            from ifthen.systems import pittsburgh_gpu

            for order in orders:
                plan, trial = StudyPlan.from_json(order.plan_json), order.trial
                files = TrialFiles(Path(order.folder), trial)
                fresh: Any = plan.make_system(trial)
                if files.finished or pittsburgh_gpu.objection(fresh):
                    self._pass_on(order)
                    continue
                checkpointed: Any = saved_system(files.checkpoint, fresh, plan.epochs)
                system: PittsburghSystem = checkpointed or fresh
                epoch = system.epoch if system.started else -1
                batches.setdefault((trial.system, trial.task, order.plan_json, epoch), []).append(
                    (order, system)
                )
            # The longest begin first: the study is not done before they are.
            longest_first = sorted(
                batches.values(), key=lambda batch: -pittsburgh_gpu.most_steps(batch[0][1])
            )
            for batch in longest_first:
                size = max(1, gpu.SCRATCH_BYTES // pittsburgh_gpu.bytes_of_trial(batch[0][1]))
                for start in range(0, len(batch), size):
                    self._batches.submit(self._learn, batch[start : start + size])
        except Exception as problem:  # the processes can do it all
            warn(f"trials cannot be sorted for the GPU ({problem}). The CPU runs them.")
            for order in orders:
                self._pass_on(order)

    def _learn(self, batch: Sequence[tuple[Order, PittsburghSystem]]) -> None:
        """Let trials learn side by side to their end, or to a stop; hand them on to the processes."""
        from ifthen.systems.pittsburgh_gpu import Trials

        order = batch[0][0]
        plan, folder = StudyPlan.from_json(order.plan_json), Path(order.folder)
        files = [TrialFiles(folder, trial_order.trial) for trial_order, _ in batch]
        stop = folder / STOP
        moments: list[Moment | None] = [system.now if system.started else None for _, system in batch]
        try:
            with self._laying_out:
                trials = Trials([system for _, system in batch])
            for trial_files in files:
                trial_files.begin()
            saved_at = time.monotonic()
            while trials.epoch < plan.epochs and not stop.exists() and not self._ending.is_set():
                trials.advance(plan.epochs)
                moments = [system.now for _, system in batch]
                for trial_files in files:
                    with suppress(OSError):  # nothing depends on it
                        trial_files.progress.write_text(str(trials.epoch))
                if time.monotonic() - saved_at > plan.checkpoint_seconds and self._saving.may_begin():
                    with self._saving:
                        for (_, system), trial_files in zip(batch, files, strict=True):
                            system.save(trial_files.checkpoint)
                    saved_at = time.monotonic()
        except Exception as problem:  # whatever it is, the processes can go on
            lines = str(problem).strip().splitlines() or [type(problem).__name__]
            warn(f"the GPU failed ({lines[0][:200]}). The CPU goes on with {order.trial.system}.")
        finally:
            for (trial_order, _), trial_files, moment in zip(batch, files, moments, strict=True):
                with suppress(OSError):
                    trial_files.attempts.unlink(missing_ok=True)  # the process that goes on counts its own
                self._pass_on(trial_order, moment)

    def _pass_on(self, order: Order, moment: Moment | None = None) -> None:
        """Leave a trial to the processes, from where it stands."""
        with self._lock:
            self._ready.append((order, moment))

    def _dispatch(self) -> None:
        """Give trials to processes that have none, and tell how they ended, until the end."""
        while not self._ending.is_set():
            while self._ready and len(self._running) < self.local.places():
                with self._lock:
                    order, moment = self._ready.popleft()
                job = order.job if moment is None else partial(run_trial, moment=moment)
                future = self.local.submit(job, order.folder, order.plan_json, order.trial)
                self._running[future] = order
            finished, _ = wait(self._running, timeout=0.02, return_when="FIRST_COMPLETED")
            if not self._running:
                time.sleep(0.02)
            for future in finished:
                order = self._running.pop(future)
                try:
                    order.ended.set_result(self.local.result(future))
                except BaseException as problem:  # it is for the study to say what that means
                    order.ended.set_exception(problem)
