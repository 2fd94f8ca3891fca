"""What users may give for an environment, as a type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium

AnyEnv = gymnasium.Env[Any, Any]
"""An environment, whatever it observes and takes."""
EnvLike = str | AnyEnv | Callable[[], Any]
"""An environment, its id, or a function that makes one."""
