"""The systems by name, and loading whatever system a file holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from ifthen.environments.rebind import played_in
from ifthen.errors import ModelFileError, ParameterError, RuleError, nearest
from ifthen.parallel import checked_threads
from ifthen.systems import model_file
from ifthen.systems.ppl_dl import PPLDL
from ifthen.systems.ppl_st import PPLST
from ifthen.systems.pplx.pplx import PPLX
from ifthen.systems.samuel.samuel import SAMUEL
from ifthen.systems.system import System
from ifthen.systems.xcs import XCS
from ifthen.systems.xcsf.xcsf import XCSF
from ifthen.systems.zcs.zcs import ZCS
from ifthen.tasks.env_like import EnvLike

SYSTEMS: dict[str, type[System]] = {
    system.name: system for system in (PPLX, PPLDL, PPLST, XCSF, XCS, ZCS, SAMUEL)
}


def system_by_name(name: str) -> type[System]:
    """Return the system called `name`, in any case."""
    for system_name, system in SYSTEMS.items():
        if system_name.lower() == name.lower():
            return system
    raise ParameterError(f"unknown system {name!r}.{nearest(name, SYSTEMS)} See 'ifthen systems'.")


def either_of(names: Iterable[str]) -> str:
    """Return names as "A, B or C"."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def load(
    path: str | Path, env: EnvLike | None = None, *, teacher: object = None, threads: int | None = None
) -> System:
    """Read a trained system back from a model file; nothing in the file is ever executed.

    Args:
        path: the file that `save` wrote, or the folder of a finished run.
        env: the environment to play and learn in: an object, its id, or a function that makes it. It is
            needed if only a function or an object can make it, as files hold neither. `predict` needs none.
        teacher: the teacher to learn on from, if there was one: files do not hold it, and `predict` and
            `evaluate` do without.
        threads: how many threads further learning may use, all cores where None.
    """
    checked_threads(threads)
    if Path(path).is_dir() and (Path(path) / "model.zip").exists():
        path = Path(path) / "model.zip"
    if Path(path).is_dir():
        raise ModelFileError(
            f"{path} is a folder: give the model file in it, such as {Path(path) / 'model.zip'}."
        )
    if Path(path).suffix.lower() in (".json", ".txt", ".md"):
        raise ModelFileError(f"{path} is no model file. Rules in a file are read by ifthen.read_ruleset.")
    model = model_file.read(Path(path))
    if env is not None:
        model = dataclasses.replace(model, task=played_in(model.task, env))
    try:
        system = system_by_name(model.system).from_model(model, threads)
    except (ParameterError, RuleError) as problem:
        raise ModelFileError(f"{path} holds an impossible model: {problem}") from None
    if teacher is not None:
        system.set_teacher(teacher)
    return system
