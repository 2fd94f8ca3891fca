"""Measuring a policy: one entry point for every task, and the only place that chooses its simulator."""

from __future__ import annotations

from typing import Any, get_args, overload

from ifthen.checks import one_of
from ifthen.environments.make import TaskLike
from ifthen.environments.rebind import policy_and_its_task
from ifthen.environments.twin_registry import twin_of
from ifthen.errors import ParameterError, TaskError
from ifthen.parallel import checked_threads
from ifthen.rules.ruleset import PolicyLike, PolicyOrActions
from ifthen.simulate import gpu
from ifthen.simulate.disturbed_table import DisturbedTable
from ifthen.simulate.env_simulator import EnvSimulator
from ifthen.simulate.gpu import Backend
from ifthen.simulate.simulator import Budget, Evaluation, Seeds, Simulator, Tester
from ifthen.simulate.table_simulator import TableSimulator
from ifthen.simulate.twin_simulator import TwinSimulator
from ifthen.simulate.vector_simulator import VectorSimulator
from ifthen.simulate.workers import WorkerSimulator
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.tabular_task import TabularTask
from ifthen.tasks.task import Method, Noise, Task


def simulator_of(
    task: Task,
    *,
    threads: int = 1,
    method: Method = "sampled",
    noise: Noise = "aligned",
    budget: Budget | None = None,
    elites: int = 0,
    backend: Backend = "cpu",
) -> Simulator:
    """Return a new simulator of a task.

    Args:
        task: the task.
        threads: how many threads or worker processes to use; results do not depend on it.
        method: how performance is measured: "sampled" or "exact".
        noise: how a table uses its common random numbers: "aligned" or "stream".
        budget: the episodes that a generation is measured on, in an environment.
        elites: rulesets at the end of a population that never drop out of a race.
        backend: what plays populations: "cpu", "cuda" (a GPU, else the CPU with a warning), or "auto" (a GPU
            where there is one).
    """
    check_options(task, method, noise, budget or Budget())
    if isinstance(task, TabularTask):
        return _table_simulator(task, threads, method, noise, backend)
    assert isinstance(task, EnvTask)
    return environment_simulator(task, threads, budget, elites, backend)


def _table_simulator(
    task: TabularTask, threads: int, method: Method, noise: Noise, backend: Backend
) -> TableSimulator:
    if gpu.is_wanted(backend):
        from ifthen.simulate.gpu_table import GpuTableSimulator  # it loads Numba's part for GPUs

        return GpuTableSimulator(task, threads, method, noise)
    return TableSimulator(task, threads, method, noise)


def policy_tester(task: Task, name: str = "", strength: float = 0.0, threads: int = 1) -> Tester:
    """Return what measures policies under one disturbance: exactly on a table, elsewhere on test seeds.

    Args:
        task: the task.
        name: the disturbance, as in `Task.sweeps`, or a parameter, "options.NAME" or "unwrapped.NAME"; "" for
            none.
        strength: its strength.
        threads: how many threads to use.
    """
    if isinstance(task, TabularTask):
        return DisturbedTable(task, name, strength)
    assert isinstance(task, EnvTask)
    return environment_simulator(task.disturbed(name, strength) if name else task, threads)


def environment_simulator(
    task: EnvTask,
    threads: int = 1,
    budget: Budget | None = None,
    elites: int = 0,
    backend: Backend = "cpu",
) -> EnvSimulator:
    """Return a new simulator of an environment; see `simulator_of` for the arguments."""
    twin = twin_of(task)
    if gpu.is_wanted(backend, gpu.objection(task, twin)):
        from ifthen.simulate.gpu_twin import GpuTwinSimulator  # it loads Numba's part for GPUs

        assert twin is not None
        return GpuTwinSimulator(task, twin, threads, budget, elites)
    if twin is not None:
        return TwinSimulator(task, twin, threads, budget, elites)
    kind = VectorSimulator if threads <= 1 else WorkerSimulator
    return kind(task, threads, budget, elites)


def is_cheap(task: Task) -> bool:
    """Return whether steps cost next to nothing: on a table, or where the environment has a compiled twin.

    The task's `player` may leave the twin out: whoever plays, the same seed gives the same rules.
    """
    if not isinstance(task, EnvTask):
        return True
    return twin_of(task.replaced(player="auto") if task.player == "sync" else task) is not None


@overload
def shared_simulator(task: EnvTask, *, threads: int = 1) -> EnvSimulator: ...
@overload
def shared_simulator(
    task: Task, method: Method = "sampled", noise: Noise = "aligned", threads: int = 1
) -> Simulator: ...
def shared_simulator(
    task: Task, method: Method = "sampled", noise: Noise = "aligned", threads: int = 1
) -> Simulator:
    """Return a simulator that lives as long as its task, for measuring single policies again and again."""
    simulators: dict[tuple[Method, Noise, int], Simulator] = task.__dict__.setdefault("_simulators", {})
    key = method, noise, threads
    if key not in simulators:
        simulators[key] = simulator_of(task, threads=threads, method=method, noise=noise)
    return simulators[key]


def check_options(task: Task, method: Method, noise: Noise, budget: Budget) -> None:
    """Raise ParameterError where a task cannot be measured as asked; nothing is played."""
    if isinstance(task, TabularTask):
        if budget.saves:
            raise ParameterError(
                f"windows, first_episodes and racing save episodes of environments; {task.name} is a table, "
                "whose episodes are cheap and all played. Leave them out."
            )
    elif (method, noise) != ("sampled", "aligned"):
        raise ParameterError(
            f"{task.name} has no table of states: its fitness can only be 'sampled', and its noise 'aligned' "
            f"(a reset seed per episode), not {method!r} and {noise!r}."
        )
    elif isinstance(task, EnvTask) and budget.windows > task.episodes:
        raise ParameterError(
            f"windows must be at most the number of training seeds ({task.episodes} in {task.name}), "
            f"not {budget.windows}."
        )


def evaluate(
    policy: PolicyOrActions,
    task: TaskLike | None = None,
    method: Method = "sampled",
    noise: Noise = "aligned",
    threads: int | None = None,
    seeds: Seeds | None = None,
) -> Evaluation:
    """Measure a policy in a task: in an environment on test seeds, that nothing was learnt or selected on.

    Args:
        policy: a RuleSet, a trained system, or, on tables, the action in every state as an array `(S,)`.
        task: a task, its name, or a Gymnasium environment; a trained system's own where None. An environment
            of your own that is given beside a system of it is played with the settings of its training.
        method: "sampled", by playing, or "exact", by policy evaluation on a table.
        noise: how a table uses its common random numbers: "aligned" (a number fixed per episode and step) or
            "stream" (the paper's: one stream through all episodes).
        threads: how many threads to use, all cores where None; results do not depend on it.
        seeds: in an environment, the reset seeds to play from: an array, or "training" for those of
            training; `task.test_seeds(100)` where None. A table is always played from its z.
    """
    one_of("method", method, get_args(Method))
    one_of("noise", noise, get_args(Noise))
    policy, chosen_task = with_task(policy, task)
    if method == "exact" and not chosen_task.has_states:
        raise TaskError(f"{chosen_task.name} has no table of states: it can only be measured by playing.")
    return _simulator(chosen_task, method, noise, threads).evaluate(policy, seeds)


def evaluations(
    policy: PolicyLike,
    task: TaskLike | None = None,
    noise: Noise = "aligned",
    threads: int | None = None,
    episodes: int = 100,
) -> dict[str, Evaluation]:
    """Return the measures of a policy that people want to see, by what they are called.

    The first is exact, or on test seeds. The second is what training has selected on.

    Args:
        policy: a RuleSet or a trained system.
        task: a task, its name, or a Gymnasium environment; a trained system's own where None.
        noise: how a table uses its common random numbers.
        threads: how many threads to use, all cores where None.
        episodes: how many held-out test seeds to play in an environment.
    """
    policy, chosen_task = with_task(policy, task)
    return _simulator(chosen_task, "sampled", noise, threads).headline(policy, episodes)


def _simulator(task: Task, method: Method, noise: Noise, threads: int | None) -> Simulator:
    """Return the simulator to measure single policies with; only tables have noise to choose."""
    return shared_simulator(task, method, noise if task.has_states else "aligned", checked_threads(threads))


def with_task(policy: PolicyOrActions, task: TaskLike | None = None) -> tuple[Any, Task]:
    """Return a policy and the task to look at it in: the one given, or a trained system's own.

    Where an environment is given, names and ranges come from the policy; see `policy_and_its_task`.
    """
    task_like = getattr(policy, "task", None) if task is None else task
    if task_like is None:
        raise TaskError("give the task too, such as task='CartPole-v1': a ruleset alone does not know it.")
    return policy_and_its_task(policy, task_like)
