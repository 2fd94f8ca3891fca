"""Compiled twins of environments: what one is, which one plays a task, and the proof that it is equal."""

from __future__ import annotations

from ifthen.tasks.twins.equal import Checked, check_twin
from ifthen.tasks.twins.find import register_twin, registered_twin, twin_of
from ifthen.tasks.twins.twin import Twin, twin_step

__all__ = ["Checked", "Twin", "check_twin", "register_twin", "registered_twin", "twin_of", "twin_step"]
