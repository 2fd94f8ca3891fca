"""One of ifthen's systems on CartPole-v1: run by ../peers.py with the Python that runs it.

The parameters are the task's preset, as in `ifthen train PPL-DL CartPole-v1`; `--set` changes them.
"""

from __future__ import annotations

import time

BEGAN = time.perf_counter()

from typing import Any  # noqa: E402 - the clock runs while things are imported

from cartpole_trial import ENVIRONMENT, Choose, Trial, arguments  # noqa: E402

import ifthen  # noqa: E402
from ifthen.runs.settings import RunSettings, parse_assignment  # noqa: E402


def policy(system: ifthen.System) -> Choose:
    """Return the present rules as a policy for many observations."""
    return lambda observations: system.predict(observations)[0]


def main() -> None:
    """Train and report."""
    parser = arguments(steps=20_000_000, every=50_000)
    parser.add_argument("--system", default="PPL-DL")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="changes")
    options = parser.parse_args()
    changes: dict[str, Any] = dict(parse_assignment(assignment) for assignment in options.changes)
    settings = RunSettings(system=options.system, task=ENVIRONMENT, seed=options.seed, parameters=changes)
    # Compiled, or read from the cache, before the clock starts.
    settings.make_system(options.threads).learn(epochs=1)
    system = settings.make_system(options.threads)
    trial = Trial(options.every, BEGAN)

    def after_epoch(learner: ifthen.System) -> bool:
        reached = trial.after(int(learner.now.records[-1]["steps"]), policy(learner))
        return not (reached and options.stop)

    trial.start()
    system.learn(steps=options.steps, callback=after_epoch)
    steps = int(system.now.records[-1]["steps"])
    trial.report(steps, policy(system), size=f"{len(system.ruleset)} rules", version=ifthen.__version__)


if __name__ == "__main__":
    main()
