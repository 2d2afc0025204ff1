"""Reasons for the differences between our figures and those of the HADS paper: the numbers of `notes.md`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spotbag.instances.bags.scenarios import SCENARIOS
from spotbag.instances.library import library_instance

from ...paper import read_notes
from ..paper_days import FROM_ALGORITHM_1
from ..printed import HadsFigures, hads_figures
from .runs import FAMILY, HadsDays


def hads_notes(days: HadsDays) -> Iterator[str]:
    """Reasons, each with the paper's own numbers where they contradict each other."""
    figures = hads_figures()
    factors = price_factors({job: days.on_demand_usd(job) for job in days.jobs})
    percents = [100 * ours / theirs for theirs, ours in factors.values()]
    plans = [baseline.plan for baseline in days.baselines.values()]
    given = [plan for plan in plans if plan.d_spot_source != FROM_ALGORITHM_1]
    fewer = [
        job
        for job in days.jobs
        if _printed_hibernations(figures, job, "sc4") < _printed_hibernations(figures, job, "sc2")
    ]
    values = {
        "factors": ", ".join(f"{job} {theirs:.2f} ({ours:.2f})" for job, (theirs, ours) in factors.items()),
        "on_demand_percent": f"{min(percents):.0f} to {max(percents):.0f}",
        "printed_d_spot": ", ".join(f"{plan.job} {plan.d_spot_s} s" for plan in given) or None,
        "fewer_in_sc4": ", ".join(fewer),
        "printed_durations": " and ".join(f"{figures.hibernation_duration_s[name]:.0f}" for name in ("sc3", "sc4")),
        "resume_s": f"{_mean_sleep_s('sc4'):.0f}",
    }
    return read_notes(__package__, values)


def price_factors(on_demand_usd: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """By job, the on-demand baseline over the least price of the printed mean work: as printed, and ours."""
    figures = hads_figures()
    work_s = {job.job: job.tasks * job.mean_runtime_s for job in figures.jobs}
    factors = {}
    for printed in figures.baselines:
        offers = library_instance(f"{FAMILY}/{printed.job}").offers
        rate = min(offer.price_usd_per_s / offer.vcpus for offer in offers if offer.market == "on-demand")
        least_usd = work_s[printed.job] * rate
        factors[printed.job] = (printed.on_demand_usd / least_usd, on_demand_usd[printed.job] / least_usd)
    return factors


def _mean_sleep_s(scenario: str) -> float:
    """Mean duration of a hibernation by the rates of a scenario."""
    rate = SCENARIOS[f"{FAMILY}/{scenario}"].k_r
    assert rate
    return library_instance(f"{FAMILY}/J60").deadline_s / rate


def _printed_hibernations(figures: HadsFigures, job: str, scenario: str) -> float:
    return next(entry.hibernations for entry in figures.results if (entry.job, entry.scenario) == (job, scenario))
