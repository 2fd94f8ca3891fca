"""Compiled twins of environments: how one is written, registered, checked and found."""

from ifthen.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
