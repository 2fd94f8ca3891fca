"""The typed keyword arguments of systems, so that editors can complete them, are those that systems take.

`python -m tests.systems.test_keywords` writes them anew.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import ifthen.systems
from ifthen.systems.parameters import Parameters
from ifthen.systems.pittsburgh import PittsburghParameters
from ifthen.systems.registry import SYSTEMS
from ifthen.systems.system import System
from ifthen.systems.xcs import XCSParameters
from ifthen.systems.xcsf.xcsf_parameters import XCSFParameters

FILE = Path(ifthen.systems.__file__).with_name("keywords.pyi")
HEAD = '''"""The keyword arguments of every system with their types, so that editors complete and check them.

Written by `python -m tests.systems.test_keywords` from `System` and the systems' `Parameters`.
"""

from typing import Literal, TypedDict

from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.gpu import Backend
from ifthen.tasks.task import Noise
'''


def annotations_of(parameters: type[Parameters]) -> dict[str, str]:
    """Return the types of a system's own parameters, as they are written."""
    kinds = [kind for kind in reversed(parameters.__mro__) if issubclass(kind, Parameters)]
    written = {name: text for kind in kinds for name, text in inspect.get_annotations(kind).items()}
    return {name: written[name] for name in parameters.model_fields if name not in Parameters.model_fields}


def stub() -> str:
    """Return the text of the stub file."""
    signature = inspect.signature(System.__init__).parameters.values()
    shared = {p.name: p.annotation for p in signature if p.kind is p.KEYWORD_ONLY}
    written = inspect.get_annotations(Parameters)
    shared |= {name: written[name] for name in Parameters.model_fields}
    of_xcsf, of_xcs = annotations_of(XCSFParameters), annotations_of(XCSParameters)
    of_both = {name: kind for name, kind in of_xcsf.items() if of_xcs[name] == kind}
    families: dict[type[Parameters], tuple[str, dict[str, str]]] = {
        PittsburghParameters: ("Pittsburgh", annotations_of(PittsburghParameters)),
        XCSFParameters: ("Accuracy", of_both),
    }
    classes = {"SystemKeywords(TypedDict, total=False)": shared}
    for name, both in families.values():
        classes[f"{name}Keywords(SystemKeywords, total=False)"] = both
    for system in SYSTEMS.values():
        base, both = next(
            (family for kind, family in families.items() if issubclass(system.Parameters, kind)),
            ("System", {}),
        )
        own = {name: kind for name, kind in annotations_of(system.Parameters).items() if name not in both}
        classes[f"{system.__name__}Keywords({base}Keywords, total=False)"] = own
    parts = [
        "\n".join(
            [f"class {head}:", *(f"    {name}: {kind}".replace("'", '"') for name, kind in fields.items())]
        )
        for head, fields in classes.items()
    ]
    return "\n".join([HEAD, "\n\n".join(parts), ""])


def test_keywords_have_the_names_and_types_of_the_parameters() -> None:
    assert FILE.read_text() == stub()


if __name__ == "__main__":
    FILE.write_text(stub())
