"""Write tasks.csv: 300 tasks as somebody might have measured them on two VM types.

The bag is made up: simulations of three sizes, whose run times scatter, and which take 4 to 12 % less on c5.xlarge.
"""

import csv
import random
from pathlib import Path

rng = random.Random(18)
with open(Path(__file__).parent / "tasks.csv", "w", newline="", encoding="utf-8") as file:
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(["id", "command", "memory_mb", "runtime_s[m5.large]", "runtime_s[c5.xlarge]"])
    for number in range(1, 301):
        size, typical_s, memory_mb = rng.choice([("small", 300, 350), ("medium", 720, 800), ("large", 1480, 1500)])
        runtime_s = typical_s * rng.lognormvariate(0, 0.2)
        rows.writerow(
            [
                f"run-{number:03}",
                f"./simulate --size {size} --seed {number} --out results/{number:03}.h5",
                round(memory_mb * rng.uniform(0.9, 1.15)),
                round(runtime_s),
                round(runtime_s * rng.uniform(0.88, 0.96)),
            ]
        )
