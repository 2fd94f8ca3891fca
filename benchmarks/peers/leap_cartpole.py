"""LEAP's Pittsburgh rule system on CartPole-v1: run by ../peers.py with LEAP's own Python.

LEAP's classes do the work: PittRulesDecoder (boxes, the first matching rule decides, the nearest where none
matches), EnvironmentProblem (the mean reward of some episodes) and generational_ea with one elite. The
default options are those of LEAP's example of CartPole (5 individuals, 20 rules in [−1, 1], 5 episodes per
fitness, Gaussian steps of 0.05, every action drawn anew for each child); others give it a fairer chance.
"""

from __future__ import annotations

import math
import time

BEGAN = time.perf_counter()

import random  # noqa: E402 - the clock runs while things are imported
from importlib import import_module, metadata  # noqa: E402
from typing import Any  # noqa: E402

import gymnasium  # noqa: E402
import numpy as np  # noqa: E402
from cartpole_trial import ENVIRONMENT, Choose, Trial, arguments  # noqa: E402

T_MAX = 500


class Counted(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment that counts its steps."""

    steps = 0

    def step(self, action: Any) -> Any:
        """Take a step and count it."""
        self.steps += 1
        return super().step(action)


def make_decoder(env: Any, seed: int) -> Any:
    """Return what turns genomes into rules, seeded."""
    rules = import_module("leap_ec.executable_rep.rules")
    inputs = gymnasium.spaces.Box(-1, 1, (4,), np.float32)
    inputs.seed(seed)
    env.action_space.seed(seed)
    return rules.PittRulesDecoder(input_space=inputs, output_space=env.action_space)


def policy(decoder: Any, individual: Any) -> Choose:
    """Return an individual's rules as a policy for many observations."""
    executable = decoder.decode(individual.genome)
    return lambda observations: [executable(observation) for observation in observations]


def pipeline(decoder: Any, options: Any) -> list[Any]:
    """Return the operators that make the next generation."""
    ops = import_module("leap_ec.ops")
    conditions = import_module("leap_ec.real_rep.ops").genome_mutate_gaussian(
        std=options.std, bounds=decoder.condition_bounds, expected_num_mutations=options.condition_rate
    )
    actions = import_module("leap_ec.int_rep.ops").individual_mutate_randint(
        bounds=decoder.action_bounds, probability=options.action_rate
    )
    mutate = decoder.mutator(condition_mutator=conditions, action_mutator=actions)
    return [ops.tournament_selection, ops.clone, mutate, ops.evaluate, ops.pool(size=options.population)]


def main() -> None:
    """Train and report."""
    parser = arguments(steps=2_000_000, every=50_000)
    parser.add_argument("--population", type=int, default=5)
    parser.add_argument("--rules", type=int, default=20)
    parser.add_argument("--episodes", type=int, default=5, help="per fitness")
    parser.add_argument("--std", type=float, default=0.05)
    parser.add_argument("--condition-rate", type=float, default=0.05, help="expected mutations per rule")
    parser.add_argument("--action-rate", type=float, default=1.0)
    options = parser.parse_args()
    random.seed(options.seed)
    np.random.seed(options.seed)  # noqa: NPY002 - LEAP draws from NumPy's global generator
    env = Counted(gymnasium.make(ENVIRONMENT))
    env.reset(seed=options.seed)
    decoder = make_decoder(env, options.seed)
    trial = Trial(options.every, BEGAN)

    def is_over(population: list[Any]) -> bool:
        before = np.random.get_state()  # noqa: NPY002 - a check must not change what follows
        reached = trial.after(env.steps, policy(decoder, max(population)))
        np.random.set_state(before)  # noqa: NPY002
        return env.steps >= options.steps or (reached and options.stop)

    leap = import_module("leap_ec")
    problem = import_module("leap_ec.executable_rep.problems").EnvironmentProblem(
        options.episodes, T_MAX, env, "reward", gui=False
    )
    trial.start()
    population = import_module("leap_ec.algorithm").generational_ea(
        max_generations=math.inf,
        pop_size=options.population,
        problem=problem,
        representation=leap.Representation(initialize=decoder.initializer(options.rules), decoder=decoder),
        pipeline=pipeline(decoder, options),
        stop=is_over,
    )
    size = f"{options.rules} rules"
    trial.report(env.steps, policy(decoder, max(population)), size=size, version=metadata.version("leap_ec"))


if __name__ == "__main__":
    main()
