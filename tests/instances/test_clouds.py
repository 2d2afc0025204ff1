"""What clouds do to VMs, and how they bill."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotbag.core.errors import InputError
from spotbag.instances.bags.csv_tasks import read_tasks
from spotbag.instances.clouds import CLOUDS, Billing, find_cloud


@pytest.mark.parametrize(("session_s", "billed_s"), [(0, 60), (59, 60), (60, 60), (61, 61)])
def test_sessions_have_a_minimum(session_s: int, billed_s: int) -> None:
    assert CLOUDS["aws-terminate"].billing.billed_s(session_s) == billed_s
    assert CLOUDS["papers"].billing.billed_s(session_s) == session_s


@pytest.mark.parametrize(("session_s", "billed_s"), [(0, 0), (1, 3600), (3600, 3600), (3601, 7200)])
def test_blocks_are_paid_whole(session_s: int, billed_s: int) -> None:
    assert Billing(block_s=3600).billed_s(session_s) == billed_s


def test_every_cloud_has_a_source_and_a_date() -> None:
    for name, cloud in CLOUDS.items():
        assert cloud.name == name
        assert cloud.source
        assert cloud.date
        assert cloud.summary


def test_things_are_changed_singly() -> None:
    aws = CLOUDS["aws-terminate"]
    changed = aws.replace(notice_s=30, minimum_s=0, interruption=None)
    assert (changed.notice_s, changed.billing, changed.interruption) == (30, Billing(first_hour_free=True), "terminate")
    assert changed.name == "aws-terminate, changed"
    assert aws.replace() is aws
    assert aws.replace(notice_s=120) == aws


def test_what_is_wrong_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean gcp"):
        find_cloud("gpc")
    with pytest.raises(InputError, match="notice_s -1 must be a whole number of seconds"):
        CLOUDS["gcp"].replace(notice_s=-1)
    with pytest.raises(InputError, match="interruption 'melt' must be one of hibernate, stop, terminate"):
        CLOUDS["gcp"].replace(interruption="melt")
    with pytest.raises(InputError, match="2 errors"):
        Billing(minimum_s=-1, block_s=0)


def test_bags_with_vms_of_the_catalogue_know_their_cloud(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.csv"
    tasks.write_text("id,runtime_s,memory_mb\na,60,512\n")
    instance = read_tasks(tasks, 3600, ["c6i.large"])
    assert instance.cloud == "aws-terminate"
