"""Plan the bag of the tutorial by each goal, with and without a guarantee, and print a table.

Each plan has two prices: what it costs on a quiet day, and what it costs at worst if a spot type goes down for good.
A plan that was made without a guarantee may have no worst case: then the deadline cannot be kept.
A number is how many seconds each plan is sought, else ten.
"""

import sys
from pathlib import Path

import spotbag
from spotbag.heuristics.bags.rescue import survival_of

WORST = {"does-not-survive": "the deadline is missed", "not-shown": "not known"}

instance = spotbag.read_tasks(Path(__file__).parent / "tasks.csv", deadline_s=90 * 60)
time_limit_s = float(sys.argv[1]) if len(sys.argv) > 1 else 10
spotbag.warm_up()
print("| goal | survives, as asked | cost ($) | makespan (s) | D_spot (s) | worst case if any one type goes ($) |")
print("|---|---|---:|---:|---:|---:|")
for goal in ("cheapest", "fastest", "balanced"):
    for level in ("none", "one-type", "blackout"):
        plan = spotbag.solve(instance, goal=goal, survive=level, time_limit_s=time_limit_s).schedule
        survival = survival_of(plan, "one-type")
        worst = WORST.get(survival.verdict) or f"{survival.worst_cost_usd:.3f}"
        row = f"{plan.cost_usd:.3f} | {plan.makespan_s:,} | {plan.instance.d_spot_s:,} | {worst}"
        print(f"| `{goal}` | `{level}` | {row} |")
