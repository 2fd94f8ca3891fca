"""Reads damaged and hostile files of every kind: nothing but a clear error may come of them.

    make fuzz                                     5,000 files of each kind, some minutes on two cores
    python benchmarks/fuzz.py --files 200         fewer
    python benchmarks/fuzz.py --kinds model       one kind
    python benchmarks/fuzz.py --only model/17     one file again, with what it raises

Files are made from sound ones: bytes are changed, or values are replaced by odd ones (other types, huge or
nested values, names that control terminals or import modules). Which ones, follows from the seed. They are
read in processes of their own, in which four things must never be: another exception than an `IfthenError`,
more than 10 seconds for a file, more than 1 GiB of memory, and the import of a module that a file names.
Exit code: 1 where any was.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import json
import os
import pickle
import queue
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

SECONDS, MEMORY = 10.0, 2**30
START_SECONDS = 120.0
"""A process may take this long to start."""
CHUNK = 250
SOUND = "sound.pickle"
EVIL = "ifthen_fuzz_module"
UNIT = 1 if sys.platform == "darwin" else 1024
ODD: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2,
        7,
        255,
        2**31,
        2**63,
        -(2**63),
        10**30,
        10**400,
        0.5,
        -0.0,
        1e-320,
        1e308,
    ),
    *(
        "",
        "x",
        "\0",
        "\x1b]0;x\x07",
        "é\u202e",
        "=1+1",
        "../..",
        "/dev/null",
        "a" * 300,
        "b" * 100_000,
        "1",
        "nan",
    ),
    *(
        f"{EVIL}:CartPole-v1",
        f"{EVIL}:X-v0",
        "CartPole-v1",
        "FrozenLake-4-0",
        "Taxi-v4",
        "FrozenLake-64-0.5-map9",
    ),
    *(
        [],
        {},
        [[]],
        [0],
        [None],
        [""],
        {"": 0},
        {"a": {}},
        [[[[0]]]],
        [0] * 1_000,
        [""] * 50_000,
        [[0, 1]] * 5_000,
    ),
    *({str(i): i for i in range(5_000)}, [{"name": "a"}] * 200, ["a", "a"]),
]
FUNCTION = b"""LEFT, RIGHT = 0, 1
def act(obs):
    x, v, theta, omega = obs
    lean = theta + 0.22 * omega
    speed = abs(v) if x > 0 else max(v, -v, 0.1)
    if not (lean > 0.01 or -0.5 < x <= 0.5) and speed < 1:
        out = RIGHT
    elif lean < -0.1:
        return "push left"
    else:
        out = LEFT
    if omega >= 2: out = 1 - out
    return out
"""
TOML = [
    *(
        "nan",
        "inf",
        "-inf",
        "9" * 5_000,
        "0x" + "f" * 5_000,
        "[" * 2_000,
        "1e999",
        "1979-05-27",
        "'''x",
        "{a.b=1}",
    ),
    *("{" + "a={" * 500 + "}" * 501, '"\\u0000"', '"\\u001b[31m"'),
]


def random_of(seed: int, kind: str, number: int) -> random.Random:
    """Return the source of everything random about a file."""
    return random.Random(f"{seed}/{kind}/{number}")


def changed_bytes(data: bytes, rng: random.Random) -> bytes:
    """Return bytes with a few changes: some lost, doubled, moved, replaced or added."""
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        first = rng.randrange(len(data) + 1)
        last = min(len(data), first + rng.choice((1, 1, 2, 8, 64, 1_000)))
        piece = data[first:last]
        replacement = rng.choice(
            (
                b"",
                piece * rng.choice((2, 10, 1_000)),
                bytes(rng.randrange(256) for _ in piece),
                rng.choice((b"\0", b"\xff", b'"', b"{", b"]", b"\n", b"\\", b"9", b"-", b"e", b":", b"="))
                * 3,
                data[rng.randrange(len(data) + 1) :][: len(piece)],
            )
        )
        data = data[:first] + replacement[:200_000] + data[last:]
    return data[: rng.randrange(len(data) + 1)] if rng.random() < 0.1 else data


def changed_values(data: Any, rng: random.Random) -> Any:
    """Return plain data with some values or names replaced, left out or added."""
    data = fresh(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        container = data
        while isinstance(container, dict | list) and container:
            key = rng.choice(list(container) if isinstance(container, dict) else range(len(container)))
            child: Any = container[key]
            if not isinstance(child, dict | list) or not child or rng.random() < 0.3:
                _change(container, key, rng)
                break
            container = child
    return data


def fresh(value: Any) -> Any:
    """Return a copy in which no part stands twice: a change of it would be one of thousands."""
    return json.loads(json.dumps(value))


def _change(container: Any, key: Any, rng: random.Random) -> None:
    chance = rng.random()
    if chance < 0.65:
        container[key] = fresh(rng.choice(ODD))
    elif chance < 0.75:
        container.pop(key)
    elif isinstance(container, dict):
        container[str(rng.choice(ODD))[:1_000]] = fresh(container[key] if chance < 0.9 else rng.choice(ODD))
    else:
        short = len(json.dumps(container[key])) < 50
        container.extend(fresh(container[key]) for _ in range(rng.choice((1, 5, 3_000 if short else 2))))


def toml_of(value: Any, rng: random.Random, inside: bool = False) -> str:
    """Return plain data as TOML, now and then with something odd in it; null is no TOML, and is written."""
    if inside and rng.random() < 0.01:
        return rng.choice(TOML)
    if isinstance(value, dict):
        lines = [f"{json.dumps(str(name))} = {toml_of(inner, rng, True)}" for name, inner in value.items()]
        return "{" + ", ".join(lines) + "}" if inside else "\n".join(lines) + "\n"
    if isinstance(value, list):
        return "[" + ", ".join(toml_of(inner, rng, True) for inner in value) + "]"
    return json.dumps(value)


def changed_text(text: bytes, data: Any, rng: random.Random, write: Callable[[Any], str]) -> bytes:
    """Return a file with its bytes or its values changed."""
    if rng.random() < 0.3:
        return changed_bytes(text, rng)
    changed = write(changed_values(data, rng)).encode(errors="replace")
    return changed_bytes(changed, rng) if rng.random() < 0.1 else changed


def changed_zip(data: bytes, rng: random.Random) -> bytes:
    """Return a model with bytes of the archive, of its arrays or values of its manifest changed."""
    if rng.random() < 0.2:
        return changed_bytes(data, rng)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    names = [name for name in members if name.endswith(".npy")]
    if rng.random() < 0.65:
        manifest = changed_values(json.loads(members["manifest.json"]), rng)
        members["manifest.json"] = json.dumps(manifest).encode()
    if rng.random() < 0.5:
        name = rng.choice(names)
        members[name] = changed_array(members[name], rng)
    if rng.random() < 0.1:
        members[rng.choice((rng.choice(names), "x.npy", "../x", "population/x.npy"))] = members[
            rng.choice(names)
        ]
    if rng.random() < 0.1:
        members.pop(rng.choice(list(members)))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def changed_array(data: bytes, rng: random.Random) -> bytes:
    """Return an array with other numbers, another shape or another type, or with its bytes changed."""
    import numpy as np

    array, chance = np.load(io.BytesIO(data)), rng.random()
    if chance < 0.2:
        return changed_bytes(data, rng)
    if chance < 0.6 and array.size:
        array.reshape(-1)[rng.randrange(array.size)] = rng.choice((0, 1, -1, 2**31 - 1, -(2**31), 5, 100))
    elif chance < 0.8:
        array = rng.choice((array.reshape(-1), array[..., None], array.sum(), array[:0], array[:-1]))
    else:
        array = array.astype(rng.choice(("u1", "i2", "i4", "i8", "f2", "f4", "f8", "?", "c16", "U3")))
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


class Sound:
    """Sound files to begin with, made in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        import ifthen
        from ifthen.runs.settings import checked_settings
        from ifthen.study.read_results import read_results, write_pack
        from ifthen.study.study_folder import claim
        from ifthen.study.study_plan import checked_plan
        from ifthen.study.trial import run_trial

        lake = {"desc": ["SF", "HG"], "p_slip": 0.2, "enumerations": 2, "t_max": 9, "name": "lake"}
        pole = {"environment": "CartPole-v1", "episodes": 2, "options": {"sutton_barto_reward": True}}
        small = {"idv_size": 3, "pop_size": 8}
        kinds: dict[str, dict[str, Any]] = {
            "PPL-DL": small,
            "PPL-ST": small,
            "XCSF": {"pop_limit": 30, "ga_per_epoch": 4},
            "XCS": {"pop_limit": 30, "ga_per_epoch": 4},
            "ZCS": {"pop_limit": 30},
            "SAMUEL": {"pop_size": 6, "most_rules": 4},
            "PPL-X": {},
        }
        self.models, self.json, self.text = [], [], []
        for name, parameters in kinds.items():
            for task in (
                ifthen.frozen_lake(desc=["SF", "HG"], p_slip=0.2, t_max=9),
                ifthen.env_task("CartPole-v1"),
            ):
                maker: Any = getattr(ifthen, name.replace("-", ""))
                small_plan: dict[str, Any] = {"steps": 1_000, "require": "never 0 when pole angle >= 0.1"}
                extra_parameters = small_plan if name == "PPL-X" and task.name == "CartPole-v1" else {}
                system = maker(task, threads=1, seed=1, **parameters, **extra_parameters).learn(epochs=1)
                system.save(folder / "model.zip")
                self.models.append((folder / "model.zip").read_bytes())
                self.json.append(json.loads(ifthen.export(system, "json")))
                self.text.append(ifthen.export(system, "text").encode())
        with_terms = ifthen.parse_rules(
            "LET tilt = pole angle + 0.5*pole velocity\nIF tilt >= 0.1 THEN push right\n"
            "IF cart position - 2*cart velocity in [-0.3, 0.2] THEN push left\nOTHERWISE push right",
            task=ifthen.env_task("CartPole-v1"),
        )
        plain = ifthen.parse_rules(HEAD, task=ifthen.env_task("CartPole-v1"))
        self.code = {
            suffix: [ifthen.export(rules, format).encode() for rules in (with_terms, plain)]
            for suffix, format in ((".py", "python"), (".c", "c"), (".dmn", "dmn"))
        }
        self.code[".py"] += [FUNCTION] * 3
        self.json += [with_terms.to_dict()] * 3
        self.text += [ifthen.export(with_terms, "text").encode()] * 3
        self.run = {"system": "PPL-DL", "task": lake, "epochs": 3, "parameters": small, "seed": 4}
        self.runs = [
            self.run,
            {**self.run, "task": pole},
            {**self.run, "task": "FrozenLake-4-0", "system": "XCSF"},
        ]
        self.runs[2]["parameters"] = {}
        for settings in self.runs:
            checked_settings(settings)
        systems = [{"name": name, "parameters": kinds[name]} for name in ("PPL-DL", "XCSF")]
        self.plan = {
            "name": "small",
            "systems": systems,
            "tasks": [lake, "FrozenLake-4-0"],
            "trials": 1,
            "epochs": 1,
        }
        plan = checked_plan({**self.plan, "tasks": [lake]})
        self.study, self.packed = folder / "study", folder / "packed"
        claim(self.study, plan)
        for trial in plan.trials_to_run():
            run_trial(str(self.study), plan.to_json(), (trial.system, trial.task, trial.seed))
        write_pack(self.packed, read_results(self.study))


def read_model(sound: Sound, rng: random.Random, folder: Path) -> None:
    """Load a changed model and use it."""
    import ifthen

    path = folder / "model.zip"
    path.write_bytes(changed_zip(rng.choice(sound.models), rng))
    system = ifthen.load(path, threads=1)
    if rng.random() < 0.3:
        system.predict([feature.low for feature in system.ruleset.observed_features])
    if system.front is not None:
        str(system.front)
    str(system.history)
    str(system.ruleset)
    system.save(folder / "again.zip")
    ifthen.load(folder / "again.zip", threads=1)


def read_rules(sound: Sound, rng: random.Random, folder: Path, suffix: str) -> None:
    """Read changed rules and write them again."""
    import ifthen

    path = folder / f"rules{suffix}"
    if suffix == ".json":
        data = rng.choice(sound.json)
        path.write_bytes(changed_text(json.dumps(data).encode(), data, rng, json.dumps))
    elif suffix == ".txt":
        path.write_bytes(changed_lines(rng.choice(sound.text), rng))
    else:
        path.write_bytes(changed_lines(rng.choice(sound.code[suffix]), rng))
    rules = ifthen.read_ruleset(path, None if suffix in (".json", ".txt") else pole()[0])
    ifthen.export(rules[0] if isinstance(rules, tuple) else rules, "text")


def changed_lines(text: bytes, rng: random.Random) -> bytes:
    """Return rules with lines or bytes changed."""
    lines = text.splitlines()
    for _ in range(rng.choice((0, 1, 3))):
        index = rng.randrange(len(lines))
        lines[index] = rng.choice(
            (b"", lines[index] * 2, rng.choice(lines), b"IF " + b"(" * 5_000, b"#", b"\0" * 9)
        )
    text = b"\n".join(lines * rng.choice((1, 1, 1, 50)))
    return changed_bytes(text, rng) if rng.random() < 0.8 else text


def read_run(sound: Sound, rng: random.Random, folder: Path) -> None:
    """Read the changed settings of a run and make its system."""
    from ifthen.runs.run_folder import SETTINGS, RunFolder

    data = rng.choice(sound.runs)
    text = changed_text(toml_of(data, NEVER).encode(), data, rng, lambda value: toml_of(value, rng))
    (folder / SETTINGS).write_bytes(text)
    RunFolder(folder).settings().make_system(1)


def read_plan(sound: Sound, rng: random.Random, folder: Path) -> None:
    """Read a changed plan and list its trials."""
    from ifthen.study.study_plan import read_plan as read

    text = changed_text(
        toml_of(sound.plan, NEVER).encode(), sound.plan, rng, lambda value: toml_of(value, rng)
    )
    (folder / "plan.toml").write_bytes(
        text.replace(EVIL.encode(), b"no_such_module")
    )  # a plan may name modules
    read(folder / "plan.toml", []).trials_to_run()


def read_study(sound: Sound, rng: random.Random, folder: Path) -> None:
    """Read the results of a study of which a file of JSON was changed."""
    from ifthen.study.read_results import read_results
    from ifthen.study.study_folder import maker_of

    source, name = rng.choice(
        (
            (sound.study, "study.json"),
            (sound.packed, "study.json"),
            (sound.packed, "pack.json"),
            (sound.study, "made-by.json"),
        )
    )
    changed = folder / "study"
    shutil.copytree(source, changed)
    text = (changed / name).read_bytes()
    (changed / name).write_bytes(changed_text(text, json.loads(text), rng, json.dumps))
    if name == "made-by.json":
        maker_of(changed)
        return
    results = read_results(changed)
    for trial in results.plan.trials_to_run()[:3]:
        if results.ruleset is not None:
            str(results.ruleset(trial))


REQUIRED = b"""# what the controller must keep
never push left when pole angle >= 0.1 and pole velocity >= 0.5   # falls to the right
always push right when pole angle > 0.15 or "cart position" < -2.2
push left when pole angle in [-0.2, -0.1] implies cart velocity >= -1.5
complete, rules<=5, performance>=475
switches at most 5 per 100 steps
return >= 400 at 95 %
never reaches cart position >= 2.4
"""
TERMS = b"""tilt = pole angle + 0.18*pole velocity
lean [m] = 2*cart position - 0.5*cart velocity
pole angle - 3*cart position + pole velocity
"""
HEAD = """LET tilt = pole angle + 0.5*pole velocity
IF tilt >= 0.1 THEN push right
OTHERWISE push left"""


@functools.cache
def pole() -> tuple[Any, Any]:
    """Return a task and rules for it, with a term."""
    import ifthen

    task = ifthen.env_task("CartPole-v1")
    return task, ifthen.parse_rules(HEAD, task=task)


def read_required(sound: Sound, rng: random.Random, folder: Path) -> None:
    """Read a changed file of requirements; then each of them, and what it says of rules alone is decided."""
    import ifthen
    from ifthen.rules.text.constraint_text import constraints_in, is_about_rules
    from ifthen.verification.requirements import check_requirements, read_requirements

    path, (task, rules) = folder / "requirements.txt", pole()
    path.write_bytes(changed_lines(REQUIRED, rng))
    requirements, about_rules = read_requirements(path), []
    for requirement in filter(is_about_rules, requirements):
        with contextlib.suppress(ifthen.IfthenError):  # the others are to be read all the same
            constraints_in(requirement, task.features, task.action_names)
            about_rules.append(requirement)
    str(ifthen.verify(rules, require=about_rules))
    check_requirements(requirements, task)


def read_terms(sound: Sound, rng: random.Random, folder: Path) -> None:
    """Read changed sums of features, as --term gives them."""
    import ifthen
    from ifthen.rules.text.terms import terms_in

    lines = changed_lines(TERMS, rng).decode(errors="replace").splitlines()
    for line in lines[:20]:
        with contextlib.suppress(ifthen.IfthenError):  # the others are to be read all the same
            terms_in([line], pole()[0].features)
    terms_in(lines, pole()[0].features)


NEVER = random.Random(0)
NEVER.random = lambda: 1.0  # type: ignore[method-assign]  # nothing odd comes of it
KINDS: dict[str, Callable[[Sound, random.Random, Path], None]] = {
    "model": read_model,
    "rules-json": lambda sound, rng, folder: read_rules(sound, rng, folder, ".json"),
    "rules-text": lambda sound, rng, folder: read_rules(sound, rng, folder, ".txt"),
    "rules-python": lambda sound, rng, folder: read_rules(sound, rng, folder, ".py"),
    "rules-c": lambda sound, rng, folder: read_rules(sound, rng, folder, ".c"),
    "rules-dmn": lambda sound, rng, folder: read_rules(sound, rng, folder, ".dmn"),
    "run": read_run,
    "plan": read_plan,
    "study": read_study,
    "requirements": read_required,
    "terms": read_terms,
}


def peak_memory() -> int:
    """Return the most memory that this process has had, in bytes."""
    with contextlib.suppress(OSError):  # what getrusage says begins with what the parent had
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT


def work(files: Path, kind: str, seed: int, numbers: Iterator[int]) -> None:
    """Read files one after the other; print a line before each and one after it."""
    import ifthen

    warnings.simplefilter("ignore")
    sound = pickle.loads((files / SOUND).read_bytes())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / f"{EVIL}.py").write_text("")
        sys.path.append(name)
        for number in numbers:
            print(f"begin {number}", flush=True)
            began, outcome, file_folder = time.perf_counter(), "read", folder / "file"
            file_folder.mkdir()
            try:
                KINDS[kind](sound, random_of(seed, kind, number), file_folder)
            except ifthen.IfthenError:
                outcome = "refused"
            except Exception:
                outcome = "traceback"
                traceback.print_exc()
            shutil.rmtree(file_folder)
            peak = peak_memory()
            evil = int(EVIL in sys.modules)
            took = time.perf_counter() - began
            print(f"end {outcome} {took} {peak} {evil}", flush=True)
            if peak > MEMORY or evil:
                return  # the next file gets a process of its own


class Tally:
    """What came of the files of a kind."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.slowest = self.peak = 0.0
        self.bad: list[str] = []

    def add(self, name: str, outcome: str, took: float, peak: float, evil: bool) -> None:
        """Count one file."""
        outcomes = [outcome]
        outcomes += ["hang"] if took > SECONDS and outcome != "hang" else []
        outcomes += ["memory"] if peak > MEMORY else []
        outcomes += ["import"] if evil else []
        self.counts.update(outcomes)
        self.slowest, self.peak = max(self.slowest, took), max(self.peak, peak)
        if set(outcomes) & {"traceback", "hang", "memory", "import"}:
            self.bad.append(f"{name}: {', '.join(outcomes)}")


def chunk(files: Path, kind: str, seed: int, first: int, last: int, tally: Tally) -> None:
    """Read some files in processes, a new one after each that had to be ended."""
    while first < last:
        command = [
            sys.executable,
            __file__,
            "--seed",
            str(seed),
            "--worker",
            str(files),
            kind,
            str(first),
            str(last),
        ]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            first = _follow(process, kind, first, last, tally)


def _hand_on(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    """Put what a process prints into a queue, and an empty line at its end."""
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put("")


def _follow(process: subprocess.Popen[str], kind: str, next_number: int, end: int, tally: Tally) -> int:
    """Count what a process says of its files; return the number of the first one that is left."""
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_hand_on, args=(process, lines), daemon=True).start()
    begun: int | None = None
    start = next_number
    while True:
        limit = START_SECONDS if begun is None else 2 * SECONDS
        try:
            line, ready = lines.get(timeout=limit).split(), True
        except queue.Empty:
            line, ready = [], False
        if not line:
            process.kill()
            if begun is None and next_number == start:
                raise SystemExit(f"a process for {kind} did not start")
            if begun is not None:
                tally.add(
                    f"{kind}/{begun}", "traceback" if ready else "hang", 0.0 if ready else limit, 0.0, False
                )
                return begun + 1
            return next_number
        if line[0] == "begin":
            begun = int(line[1])
        else:
            assert begun is not None
            tally.add(f"{kind}/{begun}", line[1], float(line[2]), float(line[3]), line[4] == "1")
            next_number, begun = begun + 1, None
            if next_number == end:
                return next_number


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=5_000, help="files of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--only", metavar="KIND/NUMBER", help="read one file, and say what it raises")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        files, kind, first, last = options.worker
        work(Path(files), kind, options.seed, iter(range(int(first), int(last))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / SOUND).write_bytes(pickle.dumps(Sound(Path(folder))))
        if options.only:
            kind, _, number = options.only.partition("/")
            work(Path(folder), kind, options.seed, iter([int(number)]))
            return 0
        return fuzz(options, Path(folder))


def fuzz(options: argparse.Namespace, files: Path) -> int:
    """Read files of all kinds and print a table; return 1 where anything was wrong."""
    from rich.console import Console
    from rich.table import Table

    tallies = {kind: Tally() for kind in options.kinds}
    began = time.perf_counter()
    jobs = [(kind, first) for first in range(0, options.files, CHUNK) for kind in options.kinds]
    with ThreadPoolExecutor(options.workers) as pool:
        futures = [
            pool.submit(
                chunk, files, kind, options.seed, first, min(first + CHUNK, options.files), tallies[kind]
            )
            for kind, first in jobs
        ]
        for future in futures:
            future.result()
    columns = (
        "kind",
        "files",
        "read",
        "refused",
        "tracebacks",
        "hangs",
        "over 1 GiB",
        "imports",
        "slowest s",
        "MiB",
    )
    table = Table(*columns, title=f"seed {options.seed}, {time.perf_counter() - began:.0f} s")
    for kind, tally in tallies.items():
        counts = [tally.counts[name] for name in ("read", "refused", "traceback", "hang", "memory", "import")]
        extremes = (f"{tally.slowest:.1f}", f"{tally.peak / 2**20:,.0f}")
        table.add_row(kind, f"{options.files:,}", *(f"{count:,}" for count in counts), *extremes)
    console = Console(width=120)
    console.print(table)
    bad = [line for tally in tallies.values() for line in tally.bad]
    for line in bad[:50]:
        console.print(
            f"{line}; see it with: python benchmarks/fuzz.py --seed {options.seed} "
            f"--only {line.split(':')[0]}"
        )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
