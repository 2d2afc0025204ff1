"""Tolerances for noise of floating-point arithmetic, each with its reason; those of bounds are in `gaps`.

The checker of plans and the auditor have tolerances of their own: they share nothing with what they judge.
"""

EXCESS = 1e-12
"""Part of a value by which it may exceed a whole number and is still rounded down to it: several thousand roundings,
each of 2^-53 of the value, and less than the digits that a document states."""

NOISE = 1e-9
"""Excess over a whole number of seconds or VMs that is dropped: sums of up to 10^6 s have an error of some 1e-10 s."""

STATED = 1e-6
"""Excess over a whole number of seconds or intervals that is dropped where others measured and wrote the times, as in
states and traces: to a microsecond."""

LEAST_DUMP_S = 1e-6
"""A checkpoint that is written in less takes no time: a microsecond is the shortest run time in a document."""

SAME = 1e-9
"""Relative difference up to which two costs or times are the same: a sum in another order differs by less."""

REORDERED = 1e-12
"""Relative difference of two sums of the same few thousand terms in another order."""

SOLVED = 1e-6
"""Excess of a bound over a whole number of seconds that may come of the tolerance of the solver which found it."""
