"""Gantt charts: every format, what they show, clear refusals."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

from spotbag.charts.bags.bag_chart import RENTED, TASKS
from spotbag.charts.bags.plan import plan_chart, plot_gantt, write_gantt
from spotbag.charts.matplotlib_renderer import draw
from spotbag.core.errors import SpotbagError
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.entries import Machine
from spotbag.instances.library import library_instance
from spotbag.schedules.documents import Survival
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.state import State
from spotbag.solvers.bags.solve import solve
from tests.helpers.rescues import carried_on


@pytest.fixture(scope="module")
def plan() -> Schedule:
    schedule = solve(library_instance("burst-hads/J60").replace(boot_overhead_s=60), "greedy").schedule
    assert schedule is not None
    return schedule


def test_the_chart_has_a_row_for_each_core_and_spot_vms_first(plan: Schedule) -> None:
    chart = plan_chart(plan, "greedy")
    [panel] = chart.panels
    assert sum(lane.rows for lane in panel.lanes) == plan.vm_vcpus.sum()
    markets = ["on-demand" in lane.label for lane in panel.lanes]
    assert markets == sorted(markets)
    bars = {bar.name: bar for bar in panel.bars if bar.look in TASKS}
    assert len(bars) == 60
    for task, name in enumerate(plan.instance.task_ids):
        bar = bars[name]
        assert panel.lanes[bar.lane].label == plan.vm_ids[plan.task_vm[task]]
        assert bar.row == plan.task_core[task]
        assert (bar.start_s, bar.end_s) == (plan.task_start_s[task], plan.task_end_s[task])
    assert f"${plan.cost_usd:.4f}" in chart.title
    assert f"{plan.makespan_s:,} s" in chart.title


def test_vms_boot_and_are_rented_until_their_ends(plan: Schedule) -> None:
    [panel] = plan_chart(plan).panels
    spans = [bar for bar in panel.bars if bar.row is None]
    assert {(bar.start_s, bar.end_s) for bar in spans if bar.look.label == "booting (60 s)"} == {(0, 60)}
    ends = {panel.lanes[bar.lane].label: bar.end_s for bar in spans if bar.look == RENTED}
    assert ends == {plan.vm_ids[vm]: plan.vm_end_s[vm] for vm in set(plan.task_vm.tolist())}


def test_a_limit_far_behind_the_plan_is_only_named(plan: Schedule) -> None:
    late = plan.instance.replace(deadline_s=20 * plan.makespan_s)
    chart = plan_chart(
        Schedule(late, plan.vm_offer, plan.task_vm, plan.task_core, plan.task_start_s, plan.task_baseline)
    )
    assert chart.end_s < 1.1 * plan.makespan_s
    assert [look.label for look in chart.legend[-2:]] == [
        f"D_spot ({late.d_spot_s:,} s)",
        f"deadline ({20 * plan.makespan_s:,} s)",
    ]
    assert f">({20 * plan.makespan_s:,} s) →<" in draw(chart, "svg").decode("utf-8")


def test_svg_has_title_axes_legend_tasks_and_limits(plan: Schedule, tmp_path: Path) -> None:
    path = tmp_path / "plan.svg"
    write_gantt(plan, path, "greedy")
    text = path.read_text(encoding="utf-8")
    for part in (
        f"burst-hads/J60, greedy: ${plan.cost_usd:.4f}, makespan {plan.makespan_s:,} s",
        "time since the start (s)",
        "VM (one row for each core)",
        f"D_spot ({plan.instance.d_spot_s:,} s)",
        "deadline (2,700 s)",
        "booting (60 s)",
        "c4.large-spot-1",
        "t5#1",
    ):
        assert part in text
    write_gantt(plan, tmp_path / "again.svg", "greedy")
    assert (tmp_path / "again.svg").read_text(encoding="utf-8") == text


@pytest.mark.slow
def test_a_page_has_every_task_and_is_small(tmp_path: Path) -> None:
    instance = generate_instance(3000, limit=20, name="a $b$ <c> & _d_", d_spot_fraction=0.8, goal="balanced")
    schedule = solve(instance, "greedy").schedule
    assert schedule is not None
    survival = Survival(level="one-type", verdict="survives", worst_cost_usd=1, worst_at_s=300, worst_types=("<c5>",))
    write_gantt(schedule, tmp_path / "many.html", survival=survival)
    page = (tmp_path / "many.html").read_text(encoding="utf-8")
    assert "<title>a $b$ &lt;c&gt; &amp; _d_" in page
    line = "survives any one spot type down for good, worst case $ 1.0000 (&lt;c5&gt; at 300 s)"
    assert f'<p class="note">{line}</p>' in page
    assert '"worst loss (300 s)"' in page
    assert set(re.findall(r'"(t\d{4})"', page)) == set(instance.task_ids)
    assert len(page) < 60_000 + 60 * instance.n_tasks


def test_a_plan_is_drawn_onto_axes_that_are_given_and_onto_new_ones(plan: Schedule) -> None:
    axes = Figure(figsize=(5, 3)).add_subplot()
    assert plot_gantt(plan, axes, "greedy") is axes
    assert axes.get_title("left").startswith("burst-hads/J60, greedy: $")
    legend = axes.get_legend()
    assert legend is not None
    assert "deadline (2,700 s)" in [text.get_text() for text in legend.get_texts()]
    new = plot_gantt(plan)
    assert new.get_xlabel() == axes.get_xlabel() == "time since the start (s)"
    assert new.get_xlim() == axes.get_xlim()
    pyplot.close()


def test_a_burstable_plan_shows_its_modes(tmp_path: Path) -> None:
    instance = library_instance("tiny/credits")
    schedule = Schedule(instance, [0], [0], [0], [0], [True])  # type: ignore[arg-type]
    write_gantt(schedule, tmp_path / "burst.svg")
    text = (tmp_path / "burst.svg").read_text(encoding="utf-8")
    assert "burstable, baseline" in text
    assert "D_spot" not in text


def test_a_plan_from_a_state_is_drawn_from_now_on(plan: Schedule, tmp_path: Path) -> None:
    state = State.planned(plan, 100)
    rest = carried_on(plan, state)
    idle = Machine(id="idle", type="c4.large", market="spot")
    rest = carried_on(plan, state, rest.instance.replace(machines=[*rest.instance.machines, idle]))
    chart = plan_chart(rest)
    [panel] = chart.panels
    assert chart.time_label == "time from now on (s)"
    assert "1 machine not used" in panel.title
    assert all(lane.label.endswith(" (machine)") for lane in panel.lanes)
    bars = {bar.name: bar for bar in panel.bars if bar.look in TASKS}
    runs = rest.instance.running.task.tolist()
    assert {bars[rest.instance.task_ids[task]].start_s for task in runs} == set(rest.task_start_s[runs].tolist())
    # Tasks that began long ago are cut off: most of the picture is the time to come.
    assert chart.start_s == max(-40, -(rest.makespan_s // 4))
    assert not [bar for bar in panel.bars if bar.look.label.startswith("booting")]
    early = plan_chart(carried_on(plan, State.planned(plan, 50)))
    assert {bar.end_s for bar in early.panels[0].bars if bar.look.label == "booting (10 s)"} == {10}
    assert early.start_s == 0
    for ending in ("svg", "html"):
        write_gantt(rest, tmp_path / f"rest.{ending}")
        text = (tmp_path / f"rest.{ending}").read_text(encoding="utf-8")
        for part in ("time from now on (s)", "c4.large-spot-1 (machine)", "now (0 s)"):
            assert part in text


def test_an_unknown_format_and_a_missing_folder_are_refused(plan: Schedule, tmp_path: Path) -> None:
    with pytest.raises(SpotbagError, match=r"must end in \.png, \.svg, \.pdf, \.html"):
        write_gantt(plan, tmp_path / "plan.gif")
    with pytest.raises(SpotbagError, match="the folder does not exist"):
        write_gantt(plan, tmp_path / "none" / "plan.html")
