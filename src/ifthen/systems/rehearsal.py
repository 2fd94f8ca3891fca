"""Rehearsal: a population's first generations on a stand-in, which costs less than the environment itself.

It comes before epoch 0: the population that it leads to is the initial one of learning. What it plays is in
no history, so that steps and episodes are those of the environment.
"""

from __future__ import annotations

from collections.abc import Callable

from ifthen.inference.rulebook import Rulebook
from ifthen.rollout.env_fitness import EnvFitness
from ifthen.systems.pittsburgh import Population


def rehearsed(
    population: Population,
    fitness: EnvFitness,
    rulebook: Callable[[Population], Rulebook],
    breed: Callable[[Population, int], Population],
    asked_to_stop: Callable[[], bool],
    generations: int,
    show: bool = False,
) -> Population:
    """Return the population that so many generations on a stand-in lead to.

    Args:
        population: the initial one.
        fitness: measures individuals on the stand-in.
        rulebook: makes a population ready to play.
        breed: returns the children of a population, given the generation's number.
        asked_to_stop: asked before each generation; KeyboardInterrupt is raised where it says so.
        generations: how many.
        show: whether to show a progress bar.
    """
    from rich.progress import track

    about = f"rehearsal of {fitness.task.name}"
    for generation in track(range(generations), about, disable=not show):
        if asked_to_stop():
            raise KeyboardInterrupt
        measured = fitness.measure(rulebook(population), generation)
        population = breed(population._replace(fitness=measured.performance), generation + 1)
    return population
