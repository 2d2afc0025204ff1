"""Weights of tasks that are late, and their dates."""

from __future__ import annotations

from typing import Any

import pytest

from spotbag.audits.bags.plan import check
from spotbag.instances.instance import Instance
from spotbag.solvers.bags.solve import solve


def _one_core(tasks: list[dict[str, Any]], deadline_s: int, **fields: Any) -> Instance:
    offers = {"on-demand": {"price_usd_per_hour": 3.6, "limit": 1}}
    return Instance.from_document(
        {
            "format": "spotbag.instance/1",
            "name": "late",
            "deadline_s": deadline_s,
            "vm_types": [{"name": "a", "vcpus": 1, "memory_mb": 100, "offers": offers}],
            "tasks": [{"id": f"t{k}", "memory_mb": 1, "runtime_s": {"a": 10}} | task for k, task in enumerate(tasks)],
        }
        | fields,
        "bag",
    )


def test_the_task_that_weighs_most_is_in_time() -> None:
    """Two of three are late whatever happens: those of weight 2 and 1, by 5 s and 15 s, the lighter one longer."""
    bag = _one_core([{"weight": 2.0}, {"weight": 5.0}, {}], 15)
    result = solve(bag, survive="none", late="least")
    assert (result.status, result.schedule is not None) == ("late", True)
    assert result.late is not None
    assert result.late.weight == result.late.weight_bound == 3.0
    assert {task.id: (task.weight, task.late_s) for task in result.late.tasks} == {"t0": (2.0, 5), "t2": (1.0, 15)}
    assert result.late.lateness_s == 2 * 5 + 1 * 15
    assert result.schedule is not None
    report = check(bag.replace(late="least"), result.schedule)
    assert not report.violations
    assert report.late is not None
    assert (report.late.weight, report.late.lateness_s) == (3.0, 25.0)


@pytest.mark.parametrize(
    "weights",
    [
        (0.1234567, 0.7654321, 0.2345671, 0.9876543, 0.5555557, 0.3333331),
        (1 / 3, 1 / 7, 2 / 9, 1 / 11, 1 / 13, 1 / 17),
        (1e6, 1e6, 1e6, 1e-6, 1e-6, 1e-6),
        (1e6, 1.0, 1.0, 1e6, 0.5, 1e6),
    ],
)
@pytest.mark.parametrize("scale", [1, 40_000])
def test_weights_of_all_digits_are_made_least(weights: tuple[float, ...], scale: int) -> None:
    """Of six tasks on one core, two are in time: those that weigh most."""
    tasks = [{"weight": weight, "runtime_s": {"a": 10 * scale}} for weight in weights]
    result = solve(_one_core(tasks, 25 * scale), survive="none", late="least", threads=1)
    assert result.late is not None
    assert result.late.weight == pytest.approx(sum(sorted(weights)[:4]), rel=1e-12)
    assert result.late.weight_bound == pytest.approx(result.late.weight, rel=1e-9)


def test_a_task_that_is_lost_by_its_own_deadline_is_late_from_before_the_beginning() -> None:
    result = solve(_one_core([{"deadline_s": 9, "weight": 0.5}, {}], 40, late="least"), survive="none")
    assert result.late is not None
    assert [(task.id, task.late_s, task.lost_since_s) for task in result.late.tasks] == [("t0", 1, -1)]
    assert result.late.weight == result.late.weight_bound == 0.5
