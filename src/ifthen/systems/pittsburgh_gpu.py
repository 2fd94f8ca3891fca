"""Many trials of PPL-DL or PPL-ST at once on a GPU: breeding, learning and playing, generation by generation.

Trials of one system on one task differ in their seeds alone. Their populations stand in the memory of the GPU
side by side, and each step of a generation is one launch for all of them: breeding, learning and keeping the
fittest (`ifthen.systems.pittsburgh_kernels`), and between them playing: tables of bytes
(`ifthen.simulate.gpu_bytes`), or blocks that are walked where steps on the way carry rewards or tables are
large (`ifthen.simulate.gpu_lanes`).

The functions that do the work are the CPU's, and so are the random numbers: populations and histories come
out to the same bits. What the generations got is fetched after some of them, and the history's rows are made
of that, by columns.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numba import cuda as _cuda
from numpy.typing import NDArray

from ifthen.errors import TaskError
from ifthen.evolve.alleles import WIDE, alleles_of
from ifthen.randomness import stream
from ifthen.rules.arrays import Ints
from ifthen.rules.batch import LIST, NO_TERMS, STRENGTH
from ifthen.rules.ruleset import NULL_ACTION
from ifthen.simulate import gpu_bytes
from ifthen.simulate.byte_tables import byte_game
from ifthen.simulate.gpu import (
    THREADS,
    WARP,
    GpuStream,
    Repeated,
    n_blocks,
    repeated_for,
    simulated,
    table_lanes,
)
from ifthen.simulate.gpu_bytes import ByteLanes, byte_launch
from ifthen.simulate.gpu_lanes import Lanes, lanes_launch
from ifthen.simulate.gpu_memory import Memory, fetched
from ifthen.simulate.gpu_table import exact_on_gpu
from ifthen.simulate.scope import tabular
from ifthen.simulate.table_noise import Plan, plan
from ifthen.simulate.table_play import Played
from ifthen.simulate.table_rules import Workspace, new_workspace
from ifthen.simulate.table_walk import walk
from ifthen.systems.learning import Moment
from ifthen.systems.pittsburgh import Population, Variation, first_population
from ifthen.systems.pittsburgh_kernels import (
    Breeding,
    Keeping,
    Learning,
    Populations,
    breed,
    keep_fittest,
    learn,
)
from ifthen.systems.pittsburgh_system import PittsburghSystem
from ifthen.systems.records import Records
from ifthen.systems.system import System
from ifthen.tasks.tabular_task import Dynamics, TabularTask

cuda: Any = _cuda  # a part of Numba without types
SLOTS = 4 if simulated() else 25
"""The most generations between two looks at what they got."""
FEWER_SLOTS = (SLOTS, SLOTS // 5 or 1, 1)
"""How many there can be. Memory is kept for each: the GPU waits for all its work where some is given back."""
LOOK_SECONDS = 4.0
"""The most seconds between two looks, where generations take less."""


def objection(system: System) -> str:
    """Return why a system's trials cannot be run many at once; "" if they can."""
    if not isinstance(system, PittsburghSystem):
        return f"{system.name} learns on the CPU"
    parameters = system.parameters
    if not table_lanes(system.task):
        return f"{system.task.name} is no table, or a large one"
    if parameters.fitness != "sampled" or parameters.elites or getattr(parameters, "otherwise", False):
        return "fitness='exact', elites and otherwise are for the CPU"
    if system.start is not None or system.require:
        return "rules to start from and requirements are for the CPU"
    wide = any(feature.width > WIDE for feature in system.task.features)
    return "a feature has too many values" if wide else ""


def bytes_of_trial(system: PittsburghSystem) -> int:
    """Return about how much memory of the GPU a trial takes."""
    pop_size, n_rules = system.parameters.sizes
    task = tabular(system.task, "a GPU")
    numbers = 2 * (2 * len(task.features) + 1 + 2 * system.n_learnt) * n_rules
    workspace = 4 * task.t_max * 2 + 8 * len(task.decision_states) + task.n_actions + 4 * n_rules
    return pop_size * 4 * (numbers + workspace + 12 * SLOTS)


def most_steps(system: PittsburghSystem) -> int:
    """Return how many steps the rulesets of a trial take in a generation at most: how long it may last."""
    task = tabular(system.task, "a GPU")
    return system.parameters.sizes[0] * len(task.z) * task.t_max * (1 + system.learns_strengths)


class Trials:
    """Trials of one system on one task, all at the same epoch, on a GPU.

    Args:
        systems: the systems, which differ in their seeds alone; not started, or all as far.
    """

    def __init__(self, systems: Sequence[PittsburghSystem]) -> None:
        self.systems = list(systems)
        self.stream: GpuStream = 0 if simulated() else cuda.stream()
        self._memory, self._side = Memory(self.stream), 0
        self._slot_seconds = 0.0
        first_system = self.systems[0]
        self._epoch = first_system.epoch if first_system.started else -1
        self._put(
            [
                system.now.population
                if system.started
                else first_population(system.parameters, system.task, system.seed, system.n_learnt)
                for system in self.systems
            ]
        )

    @property
    def epoch(self) -> int:
        """The epoch of all trials; −1 before the first."""
        return self._epoch

    @cached_property
    def _task(self) -> TabularTask:
        return tabular(self.systems[0].task, "a GPU")

    @cached_property
    def _model(self) -> Dynamics:
        model: Dynamics = self._memory.put("model", self._task.dynamics)
        return model

    def _put(self, populations: Sequence[Population]) -> None:
        """Lay out populations in the memory of the GPU, with all that they need there."""
        memory, table_plan = self._memory, plan(self._task)
        on_gpu = self._laid_out(populations)
        trials, n = on_gpu.fitness.shape
        states, on_device = len(self._task.decision_states), memory.put("plan", table_plan)
        policies = memory.empty("policies", (trials, n, states), np.int16)
        self._breeding = self._breeding_of(on_gpu)
        self._learning = self._learning_of(on_gpu, on_device, policies)
        kinds = zip(Played._fields, (np.float64, np.int64, np.int64, np.bool_), strict=True)
        self._played = Played(*(memory.empty(name, (SLOTS, trials * n), kind) for name, kind in kinds))
        self._keeping = Keeping(
            on_gpu,
            self._played,
            self._learning.steps,
            policies,
            memory.empty("fittest", (SLOTS, trials, states), np.int16),
            memory.empty("counts", (SLOTS, trials, 3), np.int64),
        )
        self._play = self._player(policies.reshape(trials * n, states), on_device)
        self._breed = Repeated(
            breed, n_blocks(trials * (n // 2), WARP), WARP, self._breeding, stream=self.stream
        )
        self._learn = repeated_for(learn, trials * n, self._learning, stream=self.stream)
        self._keep = Repeated(keep_fittest, trials, THREADS, self._keeping, stream=self.stream)

    def _laid_out(self, populations: Sequence[Population]) -> Populations:
        """Return populations side by side in the memory of the GPU, twice."""
        sides = (np.stack([np.stack(arrays)] * 2) for arrays in zip(*populations, strict=True))
        bounds, actions, learnt, fitness, lengths = sides
        arrays = zip(Populations._fields, (bounds, actions, learnt, lengths, fitness[0]), strict=True)
        return Populations(*(self._memory.put(name, array) for name, array in arrays))

    def _keys(self, purpose: str) -> Any:
        """Return the streams of the trials for a purpose."""
        return self._memory.put(
            f"{purpose} keys", np.array([stream(system.seed, purpose) for system in self.systems])
        )

    def _breeding_of(self, on_gpu: Populations) -> Breeding:
        """Return what breeding takes."""
        system, task = self.systems[0], self._task
        parameters = system.parameters
        alleles = self._memory.put("alleles", alleles_of(task.features, parameters.sigma, parameters.p_any))
        rates = parameters.tourn_size, parameters.p_cross, parameters.p_swap, parameters.p_mut
        variation = Variation(*rates, system.whole_rules, alleles, task.n_actions)
        return Breeding(on_gpu, self._keys("breed"), variation)

    def _learning_of(self, on_gpu: Populations, shared: Plan, policies: Any) -> Learning:
        """Return what learning takes, and room to work in for each ruleset."""
        system, memory, task = self.systems[0], self._memory, self._task
        trials, n = on_gpu.fitness.shape
        learns = system.learns_strengths
        parameters: Any = system.parameters
        x0, eta = (parameters.x0, parameters.eta) if learns else (1.0, 0.1)
        workspace = new_workspace(parameters.sizes[1], task.t_max if learns else 1, eta, x0, task.dynamics)
        scratch = workspace._asdict()
        rates = memory.put("rates", scratch.pop("rates"))
        space = {
            name: memory.empty(name, (trials * n, *array.shape), array.dtype)
            for name, array in scratch.items()
        }
        return Learning(
            on_gpu,
            self._keys("reinforce"),
            STRENGTH if learns else LIST,
            x0,
            NULL_ACTION if task.default_action is None else task.default_action,
            memory.put("terms", NO_TERMS),
            parameters.num_reinf_rollouts if learns else 0,
            eta,
            learns and parameters.payoff == "paper",
            self._model,
            shared.cuts,
            task.gamma,
            Workspace(**space, rates=rates),
            memory.empty("learnt from", (SLOTS, trials, n), np.int64),
            policies,
        )

    def _player(self, policies: Any, shared: Plan) -> Repeated:
        """Return the launch that plays policy tables `(n, D)`, given a slot."""
        memory, streamed = self._memory, self.systems[0].parameters.noise == "stream"
        n_taken, game = memory.empty("taken", SLOTS, np.int64), byte_game(self._task, streamed)
        if game is not None:
            work = ByteLanes(
                policies, shared, memory.put("game", game), n_taken, self._played, gpu_bytes.LANES
            )
            return byte_launch(work, self.stream)
        noise = memory.put("noise", walk(plan(self._task)))
        model = self._model.next_state, self._model.reward
        return lanes_launch(
            Lanes(policies, *model, shared, noise, streamed, n_taken, self._played), self.stream
        )

    def advance(self, target: int) -> None:
        """Go on for some generations, at most to the epoch `target`, and tell the systems of it."""
        began = time.perf_counter()
        fitting = (n_slots for n_slots in FEWER_SLOTS if n_slots * self._slot_seconds <= LOOK_SECONDS)
        slots = min(next(fitting, 1), target - self._epoch)
        self._memory.put("taken", np.zeros(SLOTS, dtype=np.int64))
        self._memory.put("counts", np.zeros(self._keeping.counts.shape, dtype=np.int64))
        for slot in range(slots):
            self._generation(slot)
        self._update_systems(slots)
        self._slot_seconds = (time.perf_counter() - began) / slots

    def _generation(self, slot: int) -> None:
        """Breed, unless these are the first rulesets; learn, play and keep the fittest."""
        self._epoch += 1
        if self._epoch:
            self._breed(self._epoch, self._side)
            self._side = 1 - self._side
        self._learn(self._epoch, self._side, slot)
        self._play(slot)
        self._keep(slot)

    def _update_systems(self, slots: int) -> None:
        """Let the systems stand where their populations do, with the rows of the generations since."""
        trials, pop_size = len(self.systems), self._breeding.populations.fitness.shape[1]
        fittest = self._keeping.fittest[:slots].reshape(slots * trials, -1)
        exact = exact_on_gpu(self._task, fittest, self._model, self._memory, self.stream)
        performance = fetched(self._played.performance[:slots], self.stream).reshape(slots, trials, pop_size)
        steps, truncated, failed = np.moveaxis(fetched(self._keeping.counts[:slots], self.stream), 2, 0)
        if not np.isfinite(performance).all():
            raise TaskError(f"the returns of {self._task.name} are too large: their sums overflow.")
        episodes = (pop_size - failed) * len(self._task.z)
        n_rollouts = pop_size * self._learning.rollouts
        columns = {
            "best_fitness": performance.max(axis=2),
            "mean_fitness": performance.mean(axis=2),
            "median_fitness": np.median(performance, axis=2),
            "performance": performance.max(axis=2),
            "exact_performance": np.where(np.isnan(exact), self._task.floor, exact).reshape(slots, trials),
            "truncated_share": truncated / np.maximum(1, episodes),
            "failed_share": failed / pop_size,
        }
        counts = {
            "episodes": episodes + n_rollouts,
            "steps": steps,
            "ga_invocations": np.full((slots, trials), pop_size // 2),
        }
        populations = self._populations()
        for t, (system, population) in enumerate(zip(self.systems, populations, strict=True)):
            measured = {name: column[:, t].tolist() for name, column in columns.items()}
            counted = {name: column[:, t] for name, column in counts.items()}
            system.go_on_from(self._moment(system, population, measured, counted))

    def _moment(
        self,
        system: PittsburghSystem,
        population: Population,
        measured: dict[str, list[float]],
        counted: dict[str, Ints],
    ) -> Moment:
        """Return where a system stands after some generations."""
        columns_before = system.now.records.columns() if system.started else {}
        n_epochs = len(columns_before.get("epoch", []))
        rows: dict[str, list[Any]] = {"epoch": list(range(n_epochs, self._epoch + 1)), **measured}
        initial = {"episodes": 0, "steps": 0, "ga_invocations": -(len(population.fitness) // 2)}
        for name, counts in counted.items():
            so_far = columns_before[name][-1] if columns_before else initial[name]
            rows[name] = (so_far + np.cumsum(counts)).tolist()
        return Moment(
            self._epoch,
            population,
            Records({name: [*columns_before.get(name, []), *column] for name, column in rows.items()}),
        )

    def _populations(self) -> list[Population]:
        """Return the populations; raises where rules have learnt numbers that are not finite."""
        on_gpu = self._breeding.populations
        sides = map(self._fetched_side, (on_gpu.bounds, on_gpu.actions, on_gpu.learnt, on_gpu.lengths))
        bounds, actions, learnt, lengths = sides
        fitness = fetched(on_gpu.fitness, self.stream)
        if not np.isfinite(learnt).all():
            raise TaskError(f"the rewards of {self._task.name} are too large to learn strengths from.")
        return [
            Population(bounds[t], actions[t], learnt[t], fitness[t], lengths[t]) for t in range(len(fitness))
        ]

    def _fetched_side(self, array: Any) -> NDArray[Any]:
        """Return the present half of an array of the GPU, whose first axis has two."""
        if not array.size:  # the GPU's parts of empty arrays have other shapes
            return np.zeros(array.shape[1:], array.dtype)
        return fetched(array[self._side], self.stream)
