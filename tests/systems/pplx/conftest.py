"""What tests of PPL-X share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ifthen.systems.pplx import env_plan
from ifthen.systems.pplx import value_learning as values
from ifthen.systems.pplx.env_plan import MOST_NETWORKS


@pytest.fixture(scope="module")
def few_updates() -> Iterator[None]:
    """Learn with fewer updates of the networks, which take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(values, "MOST_PER_STEP", 4.0)
        patch.setattr(values, "FEW_UPDATES", 200)
        yield


@pytest.fixture(scope="module")
def all_networks() -> Iterator[None]:
    """Learn with as many networks as outside the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(env_plan, "MOST_NETWORKS", MOST_NETWORKS)
        yield


@pytest.fixture(scope="module")
def long_plans() -> Iterator[None]:
    """Let plans of few steps search as long ones do, with one network."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(env_plan, "ENOUGH_STEPS", 1000)
        patch.setattr(env_plan, "MOST_NETWORKS", 1)
        yield
