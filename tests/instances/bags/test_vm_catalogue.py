"""The catalogue of VM types that can be rented today, and what is made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spotbag.core.errors import InputError, SpotbagError
from spotbag.instances.bags.vm_catalogue import (
    Catalogue,
    VmChoice,
    choose_vm_types,
    price_notes,
    read_catalogue,
    shipped_catalogue,
)


def test_every_row_says_who_says_so_and_when() -> None:
    catalogue = shipped_catalogue()
    assert len(catalogue.vm_types) >= 30
    for row in catalogue.vm_types:
        assert row.source
        assert row.date.startswith("20")
        assert row.architecture is not None
        assert "on-demand" in row.prices
        for quote in row.prices.values():
            assert quote.source
            assert quote.date[:4] in quote.source  # the source is of that day


def test_spot_prices_are_means_over_the_zones_and_below_those_on_demand() -> None:
    quotes = [row.prices for row in shipped_catalogue().vm_types if "spot" in row.prices]
    assert len(quotes) >= 20
    for prices in quotes:
        zones = prices["spot"].zones
        assert zones is not None
        assert prices["spot"].price_usd_per_hour == pytest.approx(sum(zones.values()) / len(zones), abs=1e-6)
        assert max(zones.values()) < prices["on-demand"].price_usd_per_hour


def test_burstable_types_earn_what_their_baseline_spends() -> None:
    # AWS: a credit is a vCPU-minute, and a VM at the baseline spends what it earns.
    burstable = [row for row in shipped_catalogue().vm_types if row.burstable is not None]
    assert {row.name.split(".")[0] for row in burstable} == {"t3", "t3a", "t4g"}
    for row in burstable:
        credits = row.burstable
        assert credits is not None
        assert credits.credits_per_hour == pytest.approx(60 * row.vcpus * credits.baseline_fraction)
        assert credits.credit_cap == 24 * credits.credits_per_hour
        assert credits.initial_credits == 0
    [large] = [row.burstable for row in burstable if row.name == "t3.large"]
    assert large is not None
    assert (large.baseline_fraction, large.credits_per_hour, large.max_credits) == (0.3, 36, 864)


def test_sizes_of_a_family_cost_the_same_for_a_core() -> None:
    # At Amazon, on-demand prices of a family go with the size: a mistake in a price shows.
    by_family: dict[str, set[float]] = {}
    for row in shipped_catalogue().vm_types:
        if row.burstable is None:
            per_core = row.usd_per_core_hour("on-demand")
            assert per_core is not None
            by_family.setdefault(row.name.split(".")[0], set()).add(round(per_core, 4))
    assert all(max(prices) - min(prices) < 2e-4 for prices in by_family.values())


def test_a_choice_keeps_its_order_and_knows_patterns() -> None:
    chosen = choose_vm_types(VmChoice(types=["m6i.xlarge", "c5.*", "c5.large"], limit=7))
    assert [vm_type["name"] for vm_type in chosen] == ["m6i.xlarge", "c5.large", "c5.xlarge"]
    assert {offer["limit"] for vm_type in chosen for offer in vm_type["offers"].values()} == {7}


def one_row(**fields: Any) -> dict[str, Any]:
    """A row of a catalogue of one's own."""
    quote = {"price_usd_per_hour": 0.5, "date": "2026-01-02", "source": "bill"}
    row = {"name": "big", "region": "here", "vcpus": 4, "memory_mb": 8192, "source": "manual", "date": "2026-01-01"}
    return row | {"prices": {"on-demand": quote}} | fields


def catalogue_file(folder: Path, *rows: dict[str, Any]) -> Path:
    """Write a catalogue."""
    path = folder / "prices.json"
    path.write_text(json.dumps({"format": "spotbag.catalogue/1", "name": "own", "provider": "us", "vm_types": rows}))
    return path


def test_a_catalogue_of_ones_own(tmp_path: Path) -> None:
    path = catalogue_file(tmp_path, one_row(), one_row(region="there"))
    choice = VmChoice(types=["big"], prices=path, region="there")
    assert choose_vm_types(choice) == [
        {
            "name": "big",
            "vcpus": 4,
            "memory_mb": 8192,
            "offers": {"on-demand": {"price_usd_per_hour": 0.5, "limit": 10}},
        }
    ]
    assert price_notes(choice)[1] == "no spot price is known of big: offered on demand only"
    with pytest.raises(InputError, match="has several regions, so --region is needed: here, there"):
        choose_vm_types(VmChoice(types=["big"], prices=path))
    copy = tmp_path / "copy.json"
    read_catalogue(path).write(copy)
    assert read_catalogue(copy) == read_catalogue(path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (one_row(date="5.1.2026"), "vm_types[0] 'big': date '5.1.2026' must be a day such as 2026-07-09"),
        (one_row(prices={"reserved": {}}), "prices"),
        (one_row(architecture="z80"), "architecture 'z80' must be 'x86_64' or 'arm64'"),
        (one_row(source=5), "source 5 must be a text"),
    ],
)
def test_faults_of_a_catalogue_are_named(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_catalogue(catalogue_file(tmp_path, row))
    assert message in str(caught.value)


def test_a_type_is_in_a_region_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"vm_types\[1\]: name 'big' is in here twice \(also vm_types\[0\]\)"):
        read_catalogue(catalogue_file(tmp_path, one_row(), one_row()))


def test_a_type_that_no_price_is_known_of_cannot_be_chosen(tmp_path: Path) -> None:
    path = catalogue_file(tmp_path, one_row(prices={}))
    with pytest.raises(SpotbagError, match="--types big: the catalogue has no price for it that could be used"):
        choose_vm_types(VmChoice(types=["big"], prices=path))
    with pytest.raises(SpotbagError, match=r"--zone mars: c5\.large has no spot price there"):
        choose_vm_types(VmChoice(types=["c5.large"], zone="mars"))


def test_the_catalogue_fits_its_schema() -> None:
    from jsonschema import Draft202012Validator

    document = json.loads(shipped_catalogue().to_text())
    Draft202012Validator(json.loads(Catalogue.schema_text())).validate(document)
