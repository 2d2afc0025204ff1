"""Tables, whatever shows them."""

import pytest

from spotbag.core.text_tables import Column, Table

_COLUMNS = [Column("VM"), Column("cost ($)", True), Column("end (s)", True)]


def test_a_table_has_a_cell_for_each_column() -> None:
    with pytest.raises(ValueError, match="a row of 2 cells in a table of 3 columns"):
        Table(_COLUMNS, [["c3.large", "0.105"]])


def test_a_row_without_cells_divides_blocks_and_is_no_row_of_cells() -> None:
    table = Table(_COLUMNS, [["a", "1", "2"], [], ["b", "3", "4"]])
    assert table.filled_rows == [["a", "1", "2"], ["b", "3", "4"]]
    assert table.cells(2) == ["2", "4"]


def test_columns_are_left_out_of_all_rows() -> None:
    table = Table(_COLUMNS, [["a", "1", "2"], [], ["b", "3", "4"]]).with_columns([0, 2])
    assert table == Table([Column("VM"), Column("end (s)", True)], [["a", "2"], [], ["b", "4"]])
