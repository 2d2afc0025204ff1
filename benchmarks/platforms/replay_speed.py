"""Times of replays on hybrid platforms: ``python -m spotbag_papers.platforms.replay_speed``.

Jobs of section VI of Caron & de Assuncao on 200 resources below agents of up to 8 children: as many dedicated and
allocated clusters as clouds. With 64 processors each the clusters keep up; with 4 they do not, and many jobs are
displaced.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from spotbag.instances.platforms.agent_trees import depth_of, many_resources
from spotbag.instances.platforms.job_draws import JobSet
from spotbag.replay.platforms.engine import PlatformReplay
from spotbag.replay.platforms.outcome import platform_trace
from spotbag.replay.platforms.policies import platform_policy
from spotbag.replay.platforms.runs import platform_with_jobs

from ..measuring import print_table

_POLICIES = ("money-saving", "time-saving", "time-saving+deadline")


def rows(numbers: Sequence[int] = (1_000, 10_000)) -> Iterator[Sequence[object]]:
    """Times of a processor for whole replays, of jobs that are drawn before, and for the audit of their traces."""
    from spotbag.audits.auditor import audit

    for processors in (64, 4):
        platform = many_resources(67, 67, 66, processors=processors, fan_out=8)
        for number in numbers:
            with_jobs = platform_with_jobs(platform, JobSet("mixed", number), 0)
            for name in _POLICIES:
                started = time.process_time()
                outcome = PlatformReplay(with_jobs, platform_policy(name)(0)).run()
                replayed_s = time.process_time() - started
                recorded = PlatformReplay(with_jobs, platform_policy(name)(0), record=True)
                trace = platform_trace(recorded, recorded.run())
                started = time.process_time()
                report = audit(trace)
                audited_s, found = time.process_time() - started, "correct" if report.correct else "wrong"
                times = replayed_s, 1e6 * replayed_s / outcome.placements, audited_s
                yield processors, depth_of(platform), number, name, outcome.placements, *times, found


def main() -> None:
    """Print the table."""
    sizes = {"processors": "", "levels": "", "jobs": ",", "policy": "", "placements": ","}
    times = {"replay (s)": ".2f", "a placement (us)": ",.0f", "audit (s)": ".2f"}
    print_table("replays on 200 resources", {**sizes, **times, "found": ""}, rows())


if __name__ == "__main__":
    main()
