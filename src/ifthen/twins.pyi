"""Compiled twins of environments: how one is written, registered, checked and found."""

from ifthen.environments.twin_registry import check_twin as check_twin
from ifthen.environments.twin_registry import register_twin as register_twin
from ifthen.environments.twin_registry import twin_of as twin_of
from ifthen.tasks.twin import Twin as Twin
from ifthen.tasks.twin import twin_step as twin_step
