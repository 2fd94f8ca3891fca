"""The command `report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ifthen.cli.front import find_front
from ifthen.cli.model import Episodes, NamedPolicy, RequireFile, Threads, all_required, of_policy
from ifthen.cli.task_names import located
from ifthen.cli.terminal import UNMET, err, out, write_file
from ifthen.errors import IfthenError, ParameterError

if TYPE_CHECKING:
    from ifthen.systems.front import Front

MOST_PRINTED = 4_000
"""Settings of a run are printed up to this many bytes."""


@of_policy
def report(
    model: NamedPolicy,
    dossier: Annotated[
        bool,
        typer.Option(
            "--dossier", help="Write all of it: dossier.html, and dossier.pdf where Chromium is installed."
        ),
    ] = False,
    purpose: Annotated[str, typer.Option(help="What the policy is for, in your own words.")] = "",
    require: Annotated[
        list[str] | None,
        typer.Option(metavar="REQUIREMENT", help="What must hold, as in 'ifthen verify'. May be repeated."),
    ] = None,
    require_file: RequireFile = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Play 20 episodes rather than 100, and look for no worst starts.")
    ] = False,
    episodes: Episodes = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="The dossier's file.  [default: dossier.html in a run's folder, else here]",
            show_default=False,
        ),
    ] = None,
    threads: Threads = None,
) -> None:
    """Answer five questions about a policy: what it does, can never do, how good, how sure, what breaks it.

    With --dossier all that was found is written on one page for a reviewer. Requirements in requirements.txt
    of a run's folder are checked, too. Exits with 1 where a requirement is not met. For example:

    - `ifthen report runs/pole`
    - `ifthen report runs/pole --dossier --purpose "Keeps the pole of the test rig upright."`
    - `ifthen report runs/pole --dossier --require "never push left when pole angle >= 0.1"`
    - `ifthen report rules.txt --task CartPole-v1 --dossier --quick --out rules.html`
    """
    from ifthen.pages.dossier import dossier as collected
    from ifthen.pages.pdf import print_pdf

    if file is not None and file.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"--out writes a page and a PDF beside it: give FILE.html, not {file.name}.")
    demands, _ = all_required(model.path, require, require_file)
    policy = model.read()
    policy.check_played()
    sizes = {"--rules": model.rules, "--tests": model.tests}
    front = _front(model, quick, episodes, threads) if dossier else None
    with err.status("reading") as status:
        result = collected(
            policy.ruleset,
            policy.task if policy.played else None,
            purpose,
            demands,
            quick,
            episodes,
            title=policy.title,
            model=str(model),
            size=" ".join(f"{name} {size}" for name, size in sizes.items() if size is not None),
            front=front,
            origin=_origin(model.path, [located(task_name) for task_name in model.task or []]),
            learner=policy.learner,
            settings=_settings(model.path),
            noise=policy.noise,
            threads=threads,
            progress=lambda stage: status.update(f"looking at {stage}"),
        )
    out.print(result.to_text(out.width), soft_wrap=True)
    if dossier:
        if not purpose.strip():
            err.print('note: the dossier does not say what the policy is for: --purpose "…" says it')
        page = file or (model.path if model.path.is_dir() else Path()) / "dossier.html"
        out.print()
        write_file(page, result.to_html())
        pdf = page.with_suffix(".pdf")
        if print_pdf(page, pdf):
            out.print(f"written to {pdf}")
        else:
            out.print("No PDF: Chromium is not installed, or could not print. Any browser prints the page.")
    if not result.verification.passed:
        raise typer.Exit(UNMET)


def _front(model: NamedPolicy, quick: bool, episodes: int | None, threads: int | None) -> Front | None:
    """Return what `ifthen front` shows; None where nothing can be played, or shortening takes too long."""
    policy = model._replace(rules=None, tests=None).read(pruned=False)
    if not policy.played or (quick and policy.front is None):
        return None
    return find_front(policy, episodes or (20 if quick else 100), threads=threads)


def _origin(model: Path, typed: list[str]) -> list[tuple[str, str]]:
    """Return where a policy comes from, in rows of a name and a text."""
    from ifthen.explanation.read_ruleset import is_rules_file, rules_file
    from ifthen.runs.run_folder import MODEL, PRUNED_RULESET, START, RunFolder
    from ifthen.runs.run_report import command_of
    from ifthen.store import sha256_of

    if is_rules_file(model):
        return [("rules", str(model)), ("SHA-256 of the file", sha256_of(rules_file(model)))]
    rows = list[tuple[str, str]]()
    model_file = model / MODEL if model.is_dir() else model
    if model.is_dir():
        try:
            folder = RunFolder(model)
            rows.append(("trained with", command_of(folder.settings(typed), (folder / START).exists())))
        except IfthenError as problem:  # such as a run in a package of one's own that --task does not name
            rows.append(("trained with", f"not known: {problem}"))
    rows += [("model", str(model_file)), ("SHA-256 of the model", sha256_of(model_file))]
    if model.is_dir() and (model / PRUNED_RULESET).exists():
        rows.append((f"SHA-256 of {PRUNED_RULESET}", sha256_of(model / PRUNED_RULESET)))
    return rows


def _settings(model: Path) -> str:
    """Return the settings of a run as its file says them; "" where there are none, or too many to print."""
    from ifthen.runs.run_folder import SETTINGS
    from ifthen.store import read_text

    path = model / SETTINGS
    if not model.is_dir() or not path.exists() or path.stat().st_size > MOST_PRINTED:
        return ""
    return read_text(path, MOST_PRINTED)
