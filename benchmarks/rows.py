"""Rows of a study in a file: written at once, read again by the next run, which goes on where one stopped."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from io import StringIO
from pathlib import Path
from typing import Any

Row = dict[str, str]


class Rows:
    """A CSV file with a row for each trial.

    Args:
        path: the file; it is made with its first row.
        keys: the columns that tell trials apart, such as task, variant and seed.
        measures: the columns that say what came out.
    """

    def __init__(self, path: Path, keys: tuple[str, ...], measures: tuple[str, ...]) -> None:
        self.path, self.keys, self.columns = path, keys, keys + measures
        self.by_key: dict[tuple[str, ...], Row] = {}
        if path.exists():
            with path.open(newline="", encoding="utf-8") as file:
                reader = csv.DictReader(file)
                if tuple(reader.fieldnames or ()) != self.columns:
                    raise SystemExit(f"{path} has other columns than {', '.join(self.columns)}: remove it.")
                for row in reader:
                    self.by_key[self.key(row)] = row

    def key(self, row: dict[str, Any]) -> tuple[str, ...]:
        """Return what tells a row from others."""
        return tuple(str(row[name]) for name in self.keys)

    def of(self, **values: Any) -> list[Row]:
        """Return the rows whose columns have these values."""
        rows = self.by_key.values()
        return [row for row in rows if all(row[name] == str(value) for name, value in values.items())]

    def keep(self, row: dict[str, Any]) -> None:
        """Add a row, to the file at once."""
        buffer, is_new = StringIO(), not self.path.exists()
        writer = csv.DictWriter(buffer, self.columns, lineterminator="\n")
        if is_new:
            writer.writeheader()
            self.path.parent.mkdir(parents=True, exist_ok=True)
        writer.writerow(row)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(buffer.getvalue())
        self.by_key[self.key(row)] = {name: str(row[name]) for name in self.columns}

    def fill(
        self, keys: Iterable[dict[str, Any]], work: Callable[..., dict[str, Any]], threads: int = 1
    ) -> None:
        """Do what is missing: `work(**key)` returns the measures of the trial with that key."""
        missing = [key for key in keys if self.key(key) not in self.by_key]
        if threads == 1:  # one after the other, so that a trial can look at those before it
            for key in missing:
                self.keep({**key, **work(**key)})
            return
        with ThreadPoolExecutor(threads) as pool:
            futures = {pool.submit(work, **key): key for key in missing}
            for future in as_completed(futures):
                self.keep({**futures[future], **future.result()})
