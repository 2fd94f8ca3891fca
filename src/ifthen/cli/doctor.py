"""The command `doctor`."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from ifthen.cli.terminal import out


def doctor(
    clear_cache: Annotated[
        bool, typer.Option("--clear-cache", help="Delete all compiled code on disk.")
    ] = False,
) -> None:
    """Show versions, threads, the GPU and the cache of compiled code, and check that compiling works.

    For example:

    - `ifthen doctor`
    """
    import shutil
    import time

    from ifthen.environments.frozen_lake import frozen_lake
    from ifthen.jit import cache_is_usable, cache_root
    from ifthen.parallel import available_threads
    from ifthen.provenance import versions
    from ifthen.simulate.gpu import find_device
    from ifthen.systems.registry import SYSTEMS

    if clear_cache:
        for folder in cache_root().glob("*"):
            if re.fullmatch("[0-9a-f]{16}", folder.name):  # ours: named after a hash of the sources
                shutil.rmtree(folder, ignore_errors=True)
    device = find_device()
    gpu = f"none: {device}" if isinstance(device, str) else str(device)
    facts = {**versions(), "threads": str(available_threads()), "GPU": gpu}
    began = time.perf_counter()
    for system in SYSTEMS.values():
        system(frozen_lake(4, 0.1)).learn(epochs=1)
    facts["an epoch of each system"] = f"worked, in {time.perf_counter() - began:.1f} s with compiling"
    size = sum(file.stat().st_size for file in cache_root().rglob("*") if file.is_file())
    facts["cache"] = str(cache_root())
    facts[""] = f"{size / 2**20:.1f} MiB with older versions" if cache_is_usable() else "cannot be written to"
    for name, value in facts.items():
        out.print(f"{name:<26}{value}", soft_wrap=True)
