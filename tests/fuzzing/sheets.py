"""Mutations of tables: of their cells, their rows and columns, and of the letters between them."""

from __future__ import annotations

import random
from collections.abc import Sequence

CELLS = (
    "nan", "NaN", "inf", "-inf", "Infinity", "1e309", "-1e309", "1e-400", "$0.085", "0.085 $", "1,05", "1,5",
    "1.05,", "1,024",
    "1.000,5", "1 000", "1_000", "1_0", "１２", "१२", "²", "½", "+1", "+0,25", "-1", "-1.0", "-5", "-4", "-0", "0",
    "0.0", "00", "007",
    "0.5", "2.7", "2.9", "1.0", "2.0", "1.9", "1.", ".5", "1e3", "1E+2", "2.5E-01", "2.5E-01 MB", "1e9", "1000000000",
    "1000000001", "9" * 30, "1" + "0" * 400, "0." + "3" * 300, "99999999", "0x10", "1j", "True", "None", "null",
    "N/A", "-", "abc",
    "", " ", "\t", " 7", "7 ", "7\t", "\u00a07", "\ufeff7", "\u200b7", "7\x00", "\x0b7", "7\u2028", "'7'", '"7"',
    '""', '"', '7"', '"7', "7 8",
    "7;8", "7,8", "7\n8", "7\r\n8", "7\r8", "#7", ";7", "7GB", "2 GB", "512MB", "512Mi", "100KB", "3TB", "90s",
    "2min", "1h30m", "1.5h",
    "1d", "30m1h", "-1h30m", "1h-30m", "00:12:30", "12:30", "-00:12:30", "99:99:99", "1-02:03:04", "0 days 00:45:00",
    "a#1", "t0", "a b", "COMPLETED", "FAILED", "done", "137", "PT1H30M", "02:30", "1-02:03", "1 day, 2:03:04", "4Gn",
    "100Mc", "1,234", "12,500.5", "2.5 second(s)",
    "x" * 201, "é", "\x1b[2J", "\u202eevil", "arm64", "X86_64", "aarch64", "i386", "us-east-1a", "Linux/UNIX",
    "2026-13-01T00:00:00Z",
    "2026-11-03", "2026-11-03T12:00:00+01:00", "2026-11-03T12:00:00.5Z", "2026-11-03 12:00", "03.11.2026", "1762171200",
)  # fmt: skip
"""Cells that are likely to be read wrongly."""

HEADINGS = (
    "", "id", "ID ", "name", "runtime_s", "runtime", "run time", "memory", "memory_gb", "memory-kb", "RAM", "count",
    "n", "arch", "note", "x",
    "cores", "cpus", "depends_on", "parents", "status",
    "exit", "min", "max", "market", "Price", "SpotPrice", "price", "os", "date",
    "Region", "vCPUs",
    "vcpus", "c6i.large_min", "runtime_s[c7g.large]", "runtime_s[", "\ufeffid", "id\x00",
)  # fmt: skip


class Sheet:
    """A table that is damaged, and then written.

    Parameters
    ----------
    rng : random.Random
        What makes the choices.
    rows : sequence of sequence of str
        Cells; the first row has the headings, if there are any.
    divider : str
        What stands between cells.
    headings : bool
        Whether the first row has headings.
    quoted : bool
        Whether cells may be quoted, and are where they have to be.
    """

    def __init__(
        self,
        rng: random.Random,
        rows: Sequence[Sequence[str]],
        divider: str,
        headings: bool = True,
        quoted: bool = True,
    ) -> None:
        self.rng = rng
        self.rows = [list(row) for row in rows]
        self.divider = divider
        self.headings = headings
        self.raw: set[tuple[int, int]] = set()
        self.quoted = quoted

    def damaged(self) -> bytes:
        """Damage the table, seldom not at all, and write it."""
        rng = self.rng
        for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 3))):
            if self.rows and all(self.rows):
                self._change()
        return self._encoded(self._letters(self._written()))

    # ------------------------------------------------------------------ cells, rows, columns

    def _change(self) -> None:
        rng = self.rng
        row = rng.randrange(len(self.rows))
        below = rng.randrange(1, len(self.rows)) if self.headings and len(self.rows) > 1 else row
        changes = (
            (12, lambda: self._cell(below)),
            (2, lambda: self._near(below)),
            (1, lambda: self._cut(row)),
            (1, lambda: self.rows[row].insert(rng.randrange(len(self.rows[row]) + 1), rng.choice(CELLS))),
            (1, lambda: self._swap(below)),
            (1, lambda: self.rows.insert(rng.randrange(len(self.rows) + 1), list(self.rows[row]))),
            (1, lambda: self._twice_but_otherwise(below)),
            (1, lambda: self.rows.pop(row)),
            (1, lambda: self.rows.insert(row, rng.choice(([""], [" "], [""] * len(self.rows[row]))))),
            (1, lambda: self._join(row)),
            (3, self._column),
            (2, self._heading),
            (1, lambda: rng.shuffle(self.rows)),
        )
        rng.choices([change for _, change in changes], [weight for weight, _ in changes])[0]()

    def _cell(self, row: int) -> None:
        cells = self.rows[row]
        place = self.rng.randrange(len(cells))
        cells[place] = self.rng.choice(CELLS)
        if self.rng.random() < 0.3:
            self.raw.add((row, place))

    def _near(self, row: int) -> None:
        """Write something into a cell that it has, or take a letter out."""
        cells, rng = self.rows[row], self.rng
        place = rng.randrange(len(cells))
        at = rng.randrange(len(cells[place]) + 1)
        piece = rng.choice(
            ("", "", ".0", ".5", "0", "-", "+", "e1", "e9", "_", ",", " ", '"', '""', "$", "%", "１", "\x00", "s", "#1")
        )
        cells[place] = cells[place][:at] + piece + cells[place][at + (not piece) :]
        if rng.random() < 0.5:
            self.raw.add((row, place))

    def _cut(self, row: int) -> None:
        del self.rows[row][self.rng.randrange(1, len(self.rows[row]) + 1) :]

    def _swap(self, row: int) -> None:
        one, other = (self.rng.randrange(len(self.rows[row])) for _ in range(2))
        self.rows[row][one], self.rows[row][other] = self.rows[row][other], self.rows[row][one]

    def _twice_but_otherwise(self, row: int) -> None:
        self.rows.insert(row, list(self.rows[row]))
        self._cell(row)

    def _join(self, row: int) -> None:
        if row + 1 < len(self.rows):
            self.rows[row] += self.rows.pop(row + 1)

    def _column(self) -> None:
        """Take a column out, double it, or move it."""
        rng = self.rng
        place, target = (rng.randrange(len(self.rows[0])) for _ in range(2))
        way = rng.randrange(4)
        for number, row in enumerate(self.rows):
            if place >= len(row):
                continue
            if way == 0:
                del row[place]
            elif way == 1:
                row.insert(target, row[place])
            elif way == 2:
                row.insert(target, row.pop(place))
            else:
                row.insert(target, rng.choice(HEADINGS if self.headings and not number else CELLS))

    def _heading(self) -> None:
        if not self.headings:
            return
        rng, cells = self.rng, self.rows[0]
        place = rng.randrange(len(cells))
        name = cells[place]
        other = (
            name.upper(),
            name.lower(),
            name.replace("_", " "),
            name.replace("_", "-"),
            f" {name}",
            name + "s",
            name[:-1],
        )
        cells[place] = rng.choice((*other, rng.choice(HEADINGS), rng.choice(cells)))

    # ------------------------------------------------------------------ letters

    def _written(self) -> str:
        rng = self.rng
        always = rng.random() < 0.1
        lines = []
        for number, row in enumerate(self.rows):
            cells = []
            for place, cell in enumerate(row):
                has_to_be = any(letter in cell for letter in (self.divider, '"', "\n", "\r"))
                if self.quoted and (always or has_to_be) and (number, place) not in self.raw:
                    cell = '"' + cell.replace('"', '""') + '"'
                cells.append(cell)
            lines.append(self.divider.join(cells))
        end = rng.choices(("\n", "\r\n", "\r"), (85, 10, 5))[0]
        return end.join(lines) + rng.choice((end, end, end, "", end * 2, f" {end}"))

    def _letters(self, text: str) -> str:
        """Damage what stands between the cells, or anything."""
        rng = self.rng
        if rng.random() < 0.75 or not text:
            return text
        at = rng.randrange(len(text))
        way = rng.randrange(12)
        if way == 0:
            return text[:at]
        if way == 1:
            return text[:at] + rng.choice(('"', '""', "'", '"\n')) + text[at:]
        if way == 2:
            return (
                text[:at]
                + rng.choice(("\r", "\r\n", "\n", "\x00", "\x0b", "\x0c", "\u2028", "\x85", "\ufeff", "\u00a0"))
                + text[at:]
            )
        if way == 3:
            return text.replace(self.divider, rng.choice((",", ";", "\t", " ", "|", ", ", "\u00a0")))
        if way == 4:
            return text[:at] + text[at:].replace("\n", rng.choice(("\r", " ", self.divider, "")), 1)
        if way == 5:
            return text[:at] + text[at:].replace(self.divider, rng.choice(("", " ", "\n", ";", self.divider * 2)), 1)
        if way == 6:
            return "\ufeff" * rng.choice((1, 1, 2)) + text
        if way == 7:
            return text.replace(".", ",")
        if way == 8:
            return rng.choice(("\n", "\n\n", "# remark\n", "; remark\n", "sep=;\n", " ")) + text
        if way == 9:
            return text[:at] + text[max(0, at - rng.randrange(60)) : at] + text[at:]
        if way == 10:
            return text[:at] + text[at + rng.randrange(1, 9) :]
        return text[:at] + chr(rng.choice((*range(32, 127), 9, 233, 0xFF11))) + text[at + 1 :]

    def _encoded(self, text: str) -> bytes:
        rng = self.rng
        if rng.random() < 0.97:
            return text.encode()
        data = text.encode(rng.choice(("utf-8", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252")), "replace")
        at = rng.randrange(len(data) + 1)
        return data[:at] + rng.choice((b"", b"\xff", b"\x80", b"\x00", b"\x1a", b"\xc0\xaf")) + data[at:]
