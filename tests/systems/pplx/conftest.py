"""What tests of PPL-X share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ifthen.systems.pplx import value_learning as values


@pytest.fixture(scope="module")
def few_updates() -> Iterator[None]:
    """Learn with fewer updates of the network, which take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(values, "MOST_PER_STEP", 4.0)
        patch.setattr(values, "FEW_UPDATES", 200)
        yield
