"""Write the golden values again: `python -m tests.golden.regenerate`.

They hold the random streams still: a change of any number here means that every published result made
with an earlier version can no longer be reproduced. Regenerate only for a change that says so to its users.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ifthen import frozen_lake
from ifthen.simulate.table_simulator import optimal_performance
from ifthen.systems.registry import SYSTEMS
from ifthen.tables import paper_suite

FOLDER = Path(__file__).parent
EPOCHS = 5
WAYS: dict[str, dict[str, Any]] = {
    "aligned": {"noise": "aligned"},
    "stream": {"noise": "stream"},
    "exact": {"fitness": "exact"},
}


def curve(system: str, way: str) -> list[float]:
    """Return the performance at epochs 0 to EPOCHS on FrozenLake-4-0.1 with seed 0, measured in some way."""
    kind = SYSTEMS[system]
    parameters = {name: value for name, value in WAYS[way].items() if name in kind.Parameters.model_fields}
    history = kind(frozen_lake(4, 0.1), seed=0, **parameters).learn(epochs=EPOCHS).history
    return [float(value) for value in history["exact_performance" if way == "exact" else "performance"]]


def optima() -> dict[str, dict[str, float]]:
    """Return the performance of the optimal policy on each task of the paper, in every way."""
    return {
        task.name: {
            "aligned": optimal_performance(task, "sampled", "aligned"),
            "stream": optimal_performance(task, "sampled", "stream"),
            "exact": optimal_performance(task, "exact"),
        }
        for task in paper_suite()
    }


def read(name: str) -> Any:
    """Return the golden values called `name`."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def main() -> None:
    """Write all golden values."""
    curves = {system: {way: curve(system, way) for way in WAYS} for system in SYSTEMS}
    for name, values in (("curves", curves), ("optima", optima())):
        (FOLDER / f"{name}.json").write_text(json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    main()
