"""Damaged inputs of all formats: there is a clean error or a correct reading, soon and in little memory.

`fuzzer` says what is done, and runs as a command too. A fault that it finds becomes a test with a name, where the
reader is tested.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.fuzzing.fuzzer import faults_of, foreign, fuzzing, run_all, shares, table


def _fuzz(inputs: Iterable[tuple[str, int]]) -> None:
    tallies = {name: tally for name, tally in run_all(inputs).tallies.items() if tally.inputs}
    print(table(tallies))
    faults = faults_of(tallies)
    assert not faults, "\n".join(faults[:20])
    assert all(tally.taken and tally.refused for tally in tallies.values())  # neither takes nor refuses everything


def test_a_sample_of_damaged_inputs() -> None:
    _fuzz(shares(400))


@pytest.mark.slow
def test_thousands_of_damaged_inputs() -> None:
    _fuzz(shares(2_000))


@pytest.mark.soak
@pytest.mark.parametrize("block", range(20))
def test_a_million_damaged_inputs(block: int) -> None:
    _fuzz(shares(50_000, block))


@pytest.mark.soak
@pytest.mark.parametrize("block", range(5))
def test_a_hundred_thousand_damaged_files_of_foreign_formats(block: int) -> None:
    _fuzz(foreign(20_000, block))


@pytest.mark.slow
def test_the_same_number_gives_the_same_input() -> None:
    with fuzzing() as fuzzer:
        first, second = ([fuzzer.run("plan", number).written for number in range(3)] for _ in range(2))
    assert first == second
