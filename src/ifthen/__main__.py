"""`python -m ifthen` is the command `ifthen`."""

from ifthen.cli import run

run()
