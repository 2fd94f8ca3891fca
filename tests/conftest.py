"""How property tests run: no deadline (compilation is slow), few examples, the same ones every time.

`IFTHEN_TEST_PROFILE=search` draws other examples each time, to find what the usual ones do not.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "search", max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("same", settings.get_profile("search"), derandomize=True)
settings.register_profile("few", settings.get_profile("same"), max_examples=5)
settings.load_profile(os.environ.get("IFTHEN_TEST_PROFILE", "same"))
