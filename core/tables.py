"""Tables of words and numbers, for whoever shows them: on a console or in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    heading : str
        What stands above it, with its unit; may have several lines.
    numeric : bool
        Whether it holds numbers, which stand right below each other.
    measured : bool
        Whether it holds times of this machine, which are others the next time.
    """

    heading: str
    numeric: bool = False
    measured: bool = False


def numbers(*headings: str) -> list[Column]:
    """Return columns of numbers."""
    return [Column(heading, numeric=True) for heading in headings]


@dataclass(frozen=True, slots=True)
class Table:
    """A table, as it is whatever shows it.

    Attributes
    ----------
    columns : sequence of Column
        Its columns.
    rows : sequence of sequence of str
        A cell for each column; a row without cells divides blocks, where what shows the table can show that.

    Raises
    ------
    ValueError
        If a row has more or fewer cells than there are columns.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]

    def __post_init__(self) -> None:
        for row in self.rows:
            if row and len(row) != len(self.columns):
                raise ValueError(f"a row of {len(row)} cells in a table of {len(self.columns)} columns")

    @property
    def filled_rows(self) -> list[Sequence[str]]:
        """Rows of the table without the dividers of blocks."""
        return [row for row in self.rows if row]

    def cells(self, index: int) -> list[str]:
        """Return the cells of a column, given by its index."""
        return [row[index] for row in self.filled_rows]

    def with_columns(self, indices: Iterable[int]) -> Table:
        """Return the table with some of its columns only, given by their indices."""
        retained = list(indices)
        rows = [[row[index] for index in retained] if row else [] for row in self.rows]
        return Table([self.columns[index] for index in retained], rows)
