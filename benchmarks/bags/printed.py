"""The numbers that the papers on hibernation print, as they are printed."""

from __future__ import annotations

from ..data_files import Figures, read_figures


def hads_figures() -> Figures:
    """Read the printed figures of the HADS paper.

    Returns
    -------
    Figures
        ``jobs`` (Table 5), ``baselines`` without hibernation (Table 9), ``results`` (Table 10, means of three runs) and
        ``checkpoints`` of ED200 (Table 11) are tables; ``hibernation_duration_s`` is by scenario (Fig. 8),
        ``steal_success_percent`` by those that the text names (ED200, Fig. 12).

        ``shares``: of the hibernations, those after which tasks were migrated to a VM in that state, or that VMs
        resumed from before the migration trigger, as far as the text states them of Figs 9 and 10; ``relation`` is how
        the share is to the number. ``steals``: two spot VMs of a run of ED200 in sc2 (Fig. 13); the text says which
        numbers are those of which VM, the captions of the figure have it the other way round.
    """
    return read_figures(Figures, __package__, "hads.json")


def burst_hads_figures() -> Figures:
    """Read the printed figures of the Burst-HADS paper.

    Returns
    -------
    Figures
        ``jobs``, ``quiet`` without hibernation (Table IV) and ``results`` (Table VI, means of three runs) are tables;
        reductions are those of Burst-HADS against HADS, and there is one number of hibernations, and of resumes, for
        both. ``averages``: numbers of section IV, of all cells where they are ``of`` nothing; ``printed`` is what the
        text says, and ``recomputed`` what the printed costs and makespans give.
    """
    return read_figures(Figures, __package__, "burst_hads.json")
