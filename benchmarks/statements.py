"""The statements of a paper: their words stand in its ``statements.toml``, in order; its code judges them by name.

A table has the arguments of `claim`: what is said (``says``), ``where``, what the paper prints (``printed``), the
reason if it does not hold (``why``), what decides it and is not printed (``unprinted``), what else is to be known
(``note``), whether it is said of ``most`` comparisons only, and whether it is ``fitted`` or ``arithmetic``. Names in
braces are put in by the code.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from .claims import Case, Claim, Ours, Verdict, claim


@dataclass(frozen=True, slots=True)
class Statements:
    """The statements of a paper.

    Attributes
    ----------
    texts : mapping of str to mapping
        What is said of each, by its name.
    """

    texts: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, package: str) -> Statements:
        """Read the statements that lie in a package."""
        return cls(tomllib.loads(resources.files(package).joinpath("statements.toml").read_text(encoding="utf-8")))

    def judge(self, name: str, cases: Case | Iterable[Case], ours: Ours = "", /, **values: Any) -> Claim:
        """Judge a statement; see `claim`. Values are put in the places that its texts name."""
        said: dict[str, Any] = dict(self.texts[name])
        said |= {key: text.format_map(values) for key, text in said.items() if isinstance(text, str)}
        return claim(cases=cases, ours=ours, **said)

    def decided(self, name: str, verdict: Verdict, ours: str, /, **values: Any) -> Claim:
        """Make a claim of a verdict that no rule of comparisons gives."""
        return self.judge(name, Case("", ours, verdict), ours, **values)
