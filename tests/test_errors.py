from __future__ import annotations

import pytest

from ifthen import errors


def test_the_nearest_known_name_is_suggested_whatever_the_case() -> None:
    assert errors.nearest("ppl_dl", ["PPL-DL", "XCSF"]) == " Did you mean 'PPL-DL'?"


def test_all_known_names_are_listed_where_none_is_near() -> None:
    assert errors.nearest("zzz", ["PPL-DL", "PPL-ST"]) == " Known: PPL-DL, PPL-ST."


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.TaskError, ValueError),
        (errors.ParameterError, ValueError),
        (errors.RuleError, ValueError),
        (errors.ModelFileError, ValueError),
        (errors.OutputError, OSError),
        (errors.EngineError, RuntimeError),
    ],
)
def test_every_error_can_be_caught_as_ours_and_as_pythons(
    error: type[Exception], builtin: type[Exception]
) -> None:
    assert issubclass(error, errors.IfthenError)
    assert issubclass(error, builtin)
