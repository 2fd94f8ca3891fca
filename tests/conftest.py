"""How property tests run: no deadline (compilation is slow), few examples, the same ones in CI."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "default", max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.register_profile("few", settings.get_profile("default"), max_examples=5, derandomize=True)
settings.load_profile(os.environ.get("IFTHEN_TEST_PROFILE", "ci" if os.environ.get("CI") else "default"))
