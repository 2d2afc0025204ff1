"""The policy of the plug-in on a Dask cluster, whose workers have it installed: the same days as here."""

from __future__ import annotations

import distributed

import spotbag


def main() -> None:
    """Replay on a cluster of two workers on this machine."""
    plan = spotbag.solve(spotbag.library_instance("hads/J60"), "single-type").schedule
    assert plan is not None
    scenario = spotbag.find_scenario("hads/sc4")
    policies = ["hads", "impatient", "impatient+fastest"]
    here = spotbag.replay_days(plan, policies, scenario, runs=8)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        there = spotbag.replay_days(plan, policies, scenario, runs=8, workers=client)
    assert there.outcomes == here.outcomes
    for summary in there.summaries():
        print(f"{summary.policy:24} ${summary.cost_usd.mean:.4f}, {summary.misses} days late")


if __name__ == "__main__":
    main()
