"""One episode, step by step."""

from ifthen.explain.trace.env_episode import EnvStep, EnvTrace
from ifthen.explain.trace.episode import Step, Trace
from ifthen.explain.trace.play import trace

__all__ = ["EnvStep", "EnvTrace", "Step", "Trace", "trace"]
