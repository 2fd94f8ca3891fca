"""`python -m ifthen.cli` is the command `ifthen`."""

from ifthen.cli import run

run()
