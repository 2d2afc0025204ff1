"""Days with the prices of a recorded history: what is read, which window is cut out, and what it says."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from spotbag.core.errors import InputError
from spotbag.instances.bags.price_days import PriceScenario, price_scenario
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.bags.spot_price_history import read_spot_prices
from spotbag.instances.bags.timeline import Timeline, event_issues
from spotbag.instances.library import library_instance

BAG = library_instance("hads/J60")
LIST_PRICE = BAG.vm_types[0].offers["spot"].price_usd_per_hour
assert BAG.vm_types[0].name == "c3.large"

ROWS = [
    ("us-east-1a", "c3.large", "Linux/UNIX", "0.030", "2026-07-09T13:00:00.000Z"),
    ("us-east-1a", "c3.large", "Linux/UNIX", "0.020", "2026-07-09T12:00:00.000Z"),
    ("us-east-1a", "c3.large", "Linux/UNIX", "0.030", "2026-07-09T15:00:00.000Z"),
    ("us-east-1a", "c4.large", "Linux/UNIX", "0.050", "2026-07-09T12:30:00.500Z"),
    ("us-east-1b", "c4.large", "Linux/UNIX", "0.077", "2026-07-09T11:00:00.000Z"),
    ("us-east-1a", "c4.large", "Windows", "0.200", "2026-07-09T12:00:00.000Z"),
    ("us-east-1a", "x9.large", "Linux/UNIX", "0.900", "2026-07-10T12:00:00.000Z"),
]
KEYS = "AvailabilityZone", "InstanceType", "ProductDescription", "SpotPrice", "Timestamp"


def files(folder: Path) -> list[str]:
    """The same history as AWS has it, as text of AWS, and as a table."""
    document = {"SpotPriceHistory": [dict(zip(KEYS, row, strict=True)) for row in ROWS]}
    (folder / "aws.json").write_text(json.dumps(document))
    (folder / "aws.tsv").write_text("".join("\t".join(["SPOTPRICEHISTORY", *row]) + "\n" for row in ROWS))
    heading = "Zone;Instance Type;Product Description;Spot Price;Timestamp"
    table = [heading, *(";".join(row) for row in ROWS)]
    (folder / "kept.csv").write_text("\ufeff" + "\r\n".join(table) + "\r\n\r\n")
    return [str(folder / name) for name in ("aws.json", "aws.tsv", "kept.csv")]


def prices_of(timeline: Timeline, name: str) -> list[tuple[int, float | None]]:
    assert all((event.kind, event.market) == ("price", "spot") for event in timeline.events)
    return [(event.time_s, event.usd_per_hour) for event in timeline.events if event.vm_type == name]


def test_a_day_by_hand(tmp_path: Path) -> None:
    for path in files(tmp_path):
        scenario = find_scenario(path, zone="us-east-1a")
        assert isinstance(scenario, PriceScenario)
        day = scenario.day(BAG, 0, 0)
        assert event_issues(day.events) == []
        # From 12:00 on; 13:00 is an hour later, and that nothing changes at 15:00 is no event.
        assert prices_of(day, "c3.large") == [(0, 0.02), (3600, 0.03)]
        # Its first price, at 12:30 and half a second, is also that of the time before.
        assert prices_of(day, "c4.large") == [(0, 0.05)]
        assert {event.vm_type for event in day.events} == {"c3.large", "c4.large"}
        later = find_scenario(path, zone="us-east-1a", since="2026-07-09T12:59:50+00:00")
        assert later.fixed
        assert prices_of(later.day(BAG, 3, 9), "c3.large") == [(0, 0.02), (10, 0.03)]
        windows = find_scenario(path, zone="us-east-1a", product="Windows").day(BAG, 0, 0)
        assert prices_of(windows, "c4.large") == [(0, 0.2)]
        assert scenario.notes(BAG) == [
            f"{path}: has no prices of c3.xlarge, c4.xlarge, which keep those of hads/J60",
            f"{path}: has prices of x9.large, of which hads/J60 has no spot VMs",
        ]


def test_a_table_of_aws_without_headings_has_ids_of_zones_since_2025(tmp_path: Path) -> None:
    rows = ["SPOTPRICEHISTORY\tus-east-1a\tuse1-az4\tc3.large\tLinux/UNIX\t0.03\t2026-07-09T13:00:00+00:00"]
    (tmp_path / "p.tsv").write_text("\n".join(rows))
    [price] = read_spot_prices(tmp_path / "p.tsv")
    assert (price.zone, price.name, price.product, price.price) == ("us-east-1a", "c3.large", "Linux/UNIX", 0.03)
    (tmp_path / "p.tsv").write_text(rows[0].replace("\t", ","))
    with pytest.raises(InputError, match="is no JSON, and no history of spot prices"):
        read_spot_prices(tmp_path / "p.tsv")
    (tmp_path / "p.csv").write_text("InstanceType,AvailabilityZoneId,SpotPrice,Timestamp\na,use1-az4,1,2026-07-09\n")
    assert read_spot_prices(tmp_path / "p.csv")[0].zone == "use1-az4"


def test_a_price_that_is_that_of_the_instance_is_no_event(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(
        f"time,type,price\n2026-07-09,c3.large,{LIST_PRICE}\n2026-07-10,c3.large,{LIST_PRICE}"
    )
    assert find_scenario(str(tmp_path / "p.csv")).day(BAG, 0, 0).events == ()


def test_the_seed_picks_a_window_that_lasts_to_the_deadline(tmp_path: Path) -> None:
    hours = 48
    rows = [f"2026-07-{9 + hour // 24:02}T{hour % 24:02}:00:00Z,c3.large,{1 + hour}" for hour in range(hours)]
    (tmp_path / "p.csv").write_text("Timestamp,InstanceType,SpotPrice\n" + "\n".join(rows))
    scenario = find_scenario(str(tmp_path / "p.csv"))
    firsts = set()
    for day in range(400):
        timeline = scenario.day(BAG, 5, day)
        assert timeline == scenario.day(BAG, 5, day)
        assert event_issues(timeline.events) == []
        assert timeline.events[0].time_s == 0
        assert all(event.time_s < 10 * BAG.deadline_s for event in timeline.events)
        steps = [event.time_s for event in timeline.events[1:]]
        assert all(after - before == 3600 for before, after in pairwise(steps))
        firsts.add(timeline.events[0].usd_per_hour)
    # The last hour begins with the last price, after which there is not a deadline of 2,100 s left.
    assert firsts == set(range(1, hours))
    assert scenario.day(BAG, 5, 3).events != scenario.day(BAG, 6, 3).events
    assert scenario.law is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "p.csv: has prices of 2 zones: say which counts with zone (--zone): us-east-1a, us-east-1b"),
        (
            {"zone": "us-east-1c"},
            "p.csv: zone 'us-east-1c' is no zone of the history, which has us-east-1a, us-",
        ),
        ({"product": "SUSE"}, "p.csv: product 'SUSE' is no product of the history, which has Linux/UNIX, Windows"),
        (
            {"zone": "us-east-1a", "since": "noon"},
            "p.csv: since 'noon' must be a time from 2026-07-09T12:00:00+00:00 to 2026-07-10T12:00:00+00:00",
        ),
        ({"zone": "us-east-1a", "since": "2027-01-01"}, "since '2027-01-01' must be a time from"),
        ({"one_means": "available"}, "one_means 'available' cannot be given with a history of spot prices"),
    ],
)
def test_what_must_be_chosen_is_said(
    options: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text("\n".join([",".join(KEYS), *(",".join(row) for row in ROWS)]))
    with pytest.raises(InputError) as caught:
        find_scenario("p.csv", **options)
    assert said in str(caught.value)


def test_two_products_without_linux_must_be_chosen_from(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("time,type,os,price\n2026-07-09,a,Windows,1\n2026-07-09,a,SUSE,2")
    with pytest.raises(InputError, match=r"has prices of 2 products: say which .*: SUSE, Windows"):
        price_scenario(read_spot_prices(tmp_path / "p.csv"), "p.csv")


def test_types_that_the_instance_does_not_have_are_named(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("time,type,price\n2026-07-09,p3.2xlarge,1")
    with pytest.raises(InputError) as caught:
        find_scenario(str(tmp_path / "p.csv")).day(BAG, 0, 0)
    assert "has prices of p3.2xlarge, but of no spot type of the instance 'hads/J60': take the history of" in str(
        caught.value
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "its first line must have the headings InstanceType, SpotPrice, Timestamp"),
        ("us-east-1a\tSPOTPRICEHISTORY\tLinux/UNIX\t1\t2026-07-09T00:00:00Z\n", "is no JSON, and no history of spot"),
        ("time,type,price\n", "has no price"),
        ("time,type,price\n2026-07-09,a,dear\n", "p.csv: line 2: price 'dear' must be a price"),
        ("time,type,price\n2026-07-09,a,-1\n", "line 2: price '-1' must be a price"),
        ("time,type,price\nsoon,a,1\n", "line 2: time 'soon' must be a time such as 2026-07-09T12:00:00Z"),
        ("time,type,price\n2026-07-09,,1\n", "line 2: type must not be empty"),
        ("time,type,price\n2026-07-09\n", "line 2: has 1 cell, the first line 3"),
        ("time,type,price\n2026-07-09,a,1,05\n", "line 2: has 4 cells, the first line 3"),
        ("time;type;price\n2026-07-09;a;1,05\n", "line 2: price '1,05' must be a price; it must be a number"),
        ("time,type,price\n2026-07-09,a,1e309\n", "line 2: price '1e309' must be a price; it must be a number"),
        ('time,type,price,note\n2026-07-09,a,1,"x\n2026-07-10,a,2,y\n', "line 2: has a quotation mark that is opened"),
        ("time,type,price,Spot Price\n", "line 1: has columns 'price' and 'Spot Price', which both hold the price"),
        ("date,time,type,price\n", "line 1: has columns 'date' and 'time', which both hold the time"),
        ("time,type,price\n1710120512345,a,1\n", "line 2: time '1710120512345' must be a time such as"),
        (
            "time,type,price\n2026-07-09T00:00Z,a,1\n2026-07-09,a,2\n",
            "line 3: price '2' is another price than in line 2, of the same moment",
        ),
        ("time,type,price\n" + "2026-07-09,a,x\n" * 5, "(that of line 2)"),
    ],
)
def test_bad_histories_are_refused(text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        find_scenario("p.csv")
    assert said in str(caught.value)


@pytest.mark.parametrize("heading", ['"Product""Description"', "ProductDes'cription", "oss"])
def test_a_heading_that_may_be_that_of_products_is_refused(tmp_path: Path, heading: str) -> None:
    """Prices of Windows, $ 0.2, would be those of Linux, $ 0.05, where nothing says of which product a price is."""
    rows = [
        f"Zone,Type,{heading},Price,Time",
        "a,c4.large,Linux/UNIX,0.05,2026-07-09",
        "a,c4.large,Windows,0.2,2026-07-09",
    ]
    (tmp_path / "kept.csv").write_text("\n".join(rows))
    with pytest.raises(InputError, match="is not understood, in a table without a column of products: call it"):
        read_spot_prices(tmp_path / "kept.csv")
