"""Integer programmes, on the back end of one's choice."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ..core.quantities import IntArray
from ..models.integer_program import IntegerProgram
from .backend import SolverAnswer, SolverLimits

SolverName: TypeAlias = Literal["highs", "cp-sat"]


def solve_program(
    solver: SolverName, program: IntegerProgram, limits: SolverLimits, start: IntArray | None
) -> SolverAnswer[IntArray]:
    """Solve an integer programme with the back end of that name."""
    if solver == "cp-sat":
        from .cp_sat import solve_with_cp_sat

        return solve_with_cp_sat(program, limits, start)
    from .highs import solve_with_highs

    return solve_with_highs(program, limits, start)
