"""Exact answers about tables: optimal values and actions, values of policies. The paper's twelve tasks."""

from ifthen.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
