"""The master programme of the clairvoyant bound: which prices the cutting planes found so far recommend."""

from __future__ import annotations

import numpy as np

from ..core.quantities import FloatArray


class Master:
    """Maximise ``f - supply @ theta - c`` over multipliers in a box, under planes above the work and below the limits.

    Parameters
    ----------
    supply : array of float, shape (n,)
        Seconds that multipliers take from the value whatever they are.
    parts, offsets : array of float, shape (m, n) and (m,)
        ``parts @ theta >= offsets`` holds.
    limited : bool
        Whether there are limits of whole markets, whose worth c is at least 0; without them c is 0.

    Notes
    -----
    Variables: the multipliers, f, c.
    """

    def __init__(self, supply: FloatArray, parts: FloatArray, offsets: FloatArray, limited: bool) -> None:
        import highspy

        self.n = len(supply)
        self.infinity = highspy.kHighsInf
        self.optimal = highspy.HighsModelStatus.kOptimal
        self.columns = np.arange(self.n + 2, dtype=np.int32)
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = self.n + 2, len(parts)
        model.col_cost_ = np.concatenate([supply, [-1.0, 1.0]])
        model.col_lower_ = np.concatenate([np.zeros(self.n), [-self.infinity, 0.0]])
        model.col_upper_ = np.concatenate(
            [np.full(self.n, self.infinity), [self.infinity, self.infinity if limited else 0.0]]
        )
        model.row_lower_, model.row_upper_ = offsets, np.full(len(parts), self.infinity)
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.arange(len(parts) + 1, dtype=np.int32) * self.n
        model.a_matrix_.index_ = np.tile(self.columns[: self.n], len(parts))
        model.a_matrix_.value_ = parts.reshape(-1)
        self.solver = highspy.Highs()
        self.solver.setOptionValue("output_flag", False)
        self.solver.setOptionValue("threads", 1)
        self.solver.setOptionValue("presolve", "off")  # of a dozen columns it takes longer than it saves
        self.solver.passModel(model)

    def set_box(self, box: float) -> None:
        """Set the upper limit of the multipliers."""
        self.solver.changeColsBounds(self.n, self.columns[: self.n], np.zeros(self.n), np.full(self.n, box))

    def add_work(self, constant: float, slope: FloatArray) -> None:
        """Say that the work is worth no more than ``constant + slope @ theta``."""
        row = np.concatenate([-slope, [1.0, 0.0]])
        self.solver.addRow(-self.infinity, constant, self.n + 2, self.columns, row)

    def add_worth(self, slope: FloatArray) -> None:
        """Say that the limited seconds are worth no less than ``slope @ theta``."""
        row = np.concatenate([-slope, [0.0, 1.0]])
        self.solver.addRow(0.0, self.infinity, self.n + 2, self.columns, row)

    def best(self) -> tuple[float, FloatArray] | None:
        """Return the value of the master programme and its multipliers; None if the solver fails."""
        self.solver.run()
        if self.solver.getModelStatus() != self.optimal:
            return None
        theta = np.array(self.solver.getSolution().col_value)[: self.n]
        return -float(self.solver.getInfo().objective_function_value), np.maximum(theta, 0.0)
