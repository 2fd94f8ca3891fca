"""What functions of ifthen return: classes to annotate with, and to look up."""

from ifthen.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
