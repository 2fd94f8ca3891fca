from __future__ import annotations

import platform
from collections.abc import Iterator

import numpy as np
import pytest

import ifthen
from ifthen import provenance


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    provenance._version.cache_clear()
    yield
    provenance._version.cache_clear()


def test_versions_are_those_that_run() -> None:
    found = provenance.versions()
    assert found["python"] == platform.python_version()
    assert found["numpy"] == np.__version__
    assert found["ifthen"] == ifthen.__version__


def test_changing_the_answer_does_not_change_the_next_one() -> None:
    provenance.versions().clear()
    assert provenance.versions()


def test_a_package_that_is_missing_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "PACKAGES", ("no-such-package",))
    assert provenance.versions()["no-such-package"] == "not installed"
