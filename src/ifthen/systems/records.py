"""A history: one row per epoch, kept by columns, as rows would take thirty times the memory.

Adding a row leaves the history as it was, which an interrupt must find whole, and does not copy it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

Record = dict[str, Any]
"""A row of the history, with `epoch`, the ruleset's `performance` on z, and the task's `held_out_column`."""


class Records(Sequence[Record]):
    """Rows of a history.

    Args:
        columns: the numbers by name, as many in each; None where a row has none.
    """

    def __init__(self, columns: Mapping[str, list[Any]]) -> None:
        self._columns = dict(columns)
        self._rows = min(map(len, self._columns.values()), default=0)

    def __len__(self) -> int:
        return self._rows

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._rows))]
        row = range(self._rows)[index]
        return {name: column[row] for name, column in self._columns.items()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Records) and self.columns() == other.columns()

    def __hash__(self) -> int:
        return hash((self._rows, *self._columns))

    def column(self, name: str) -> list[Any]:
        """Return the numbers of a column."""
        return self._columns[name][: self._rows]

    def columns(self) -> dict[str, list[Any]]:
        """Return the numbers by name."""
        return {name: self.column(name) for name in self._columns}

    def followed_by(self, record: Record) -> Records:
        """Return the rows and one more.

        Where learning stopped inside an epoch, the last two rows have the same epoch. The second one is
        provisional: the next row replaces it.
        """
        epochs, n_rows = self._columns["epoch"], self._rows
        n_rows -= n_rows > 1 and epochs[n_rows - 1] == epochs[n_rows - 2]
        columns = self._columns
        if set(record) - set(columns) or any(len(column) != n_rows for column in columns.values()):
            columns = {name: column[:n_rows] for name, column in columns.items()}
            columns |= {name: [None] * n_rows for name in record if name not in columns}
        for name, column in columns.items():
            column.append(record.get(name))  # beyond what these rows have: they stay as they are
        return Records(columns)
