"""Newer rows of a catalogue, from the files of the AWS command line and of SkyPilot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spotbag.core.errors import InputError, SpotbagError
from spotbag.instances.bags.csv_tasks import instance_of_csv
from spotbag.instances.bags.imported import Asked
from spotbag.instances.bags.price_sources import (
    instance_types_of_aws,
    price_list_of_aws,
    retail_prices_of_azure,
    rows_of_skypilot,
    spot_prices_of_aws,
    updated,
)
from spotbag.instances.bags.vm_catalogue import VmChoice, chosen_rows, shipped_catalogue


def price(name: str, zone: str, usd: str, time: str, product: str = "Linux/UNIX") -> dict[str, str]:
    """An entry of ``describe-spot-price-history``."""
    return {
        "AvailabilityZone": zone,
        "InstanceType": name,
        "ProductDescription": product,
        "SpotPrice": usd,
        "Timestamp": time,
    }


HISTORY = [
    price("c6i.large", "us-east-1a", "0.040000", "2026-11-03T12:00:00Z"),
    price("c6i.large", "us-east-1a", "0.020000", "2026-11-02T00:00:00+00:00"),
    price("c6i.large", "us-east-1b", "0.060000", "2026-11-01T00:00:00.000Z"),
    price("c6i.large", "us-east-1a", "0.900000", "2026-11-03T00:00:00Z", "Windows"),
    price("c6i.large", "us-east-1-atl-1a", "0.010000", "2026-11-03T00:00:00Z"),
    price("c6i.large", "eu-west-1a", "0.070000", "2026-11-03T00:00:00Z"),
    price("x9.huge", "us-east-1a", "1.000000", "2026-11-03T00:00:00Z"),
]


def write(folder: Path, document: Any, name: str = "aws.json") -> Path:
    """Write what a command would print."""
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def test_the_last_price_of_each_zone_counts(tmp_path: Path) -> None:
    rows = spot_prices_of_aws(write(tmp_path, {"SpotPriceHistory": HISTORY}), region="us-east-1")
    quote = rows.quotes["c6i.large", "us-east-1", "spot"]
    assert dict(quote.zones or {}) == {"us-east-1a": 0.04, "us-east-1b": 0.06}
    assert (quote.price_usd_per_hour, quote.date) == (0.05, "2026-11-03")
    assert [warning.split(": ", 1)[1] for warning in rows.warnings] == [
        "1 prices of Windows left out",
        "1 prices of eu-west-1 left out",
        "1 prices of local zones left out",
    ]


def test_a_mean_counts_each_price_for_as_long_as_it_held(tmp_path: Path) -> None:
    # The last two days before 3 November, 12:00: zone a at 0.02 until the end, where 0.04 begins; b at 0.06 throughout.
    rows = spot_prices_of_aws(write(tmp_path, {"SpotPriceHistory": HISTORY[:3]}), window_s=2 * 86400)
    assert dict(rows.quotes["c6i.large", "us-east-1", "spot"].zones or {}) == {"us-east-1a": 0.02, "us-east-1b": 0.06}
    later = [*HISTORY[:3], price("c6i.large", "us-east-1a", "0.08", "2026-11-04T12:00:00Z")]
    rows = spot_prices_of_aws(write(tmp_path, {"SpotPriceHistory": later}), window_s=2 * 86400)
    # Now from 2 November, 12:00: a day at 0.02, a day at 0.04.
    assert dict(rows.quotes["c6i.large", "us-east-1", "spot"].zones or {}) == {"us-east-1a": 0.03, "us-east-1b": 0.06}


def test_a_history_that_is_a_table_says_the_same(tmp_path: Path) -> None:
    table = tmp_path / "history.csv"
    table.write_text("\n".join([",".join(HISTORY[0]), *(",".join(entry.values()) for entry in HISTORY)]))
    found = spot_prices_of_aws(table, region="us-east-1").quotes
    expected = spot_prices_of_aws(write(tmp_path, {"SpotPriceHistory": HISTORY}), region="us-east-1").quotes
    assert {key: quote.zones for key, quote in found.items()} == {key: quote.zones for key, quote in expected.items()}
    table.write_text("type,price,time\nc6i.large,0.02,2026-11-03\n")
    with pytest.raises(InputError, match="has no availability zones, and a catalogue needs them: add a column"):
        spot_prices_of_aws(table)


TYPES = {
    "InstanceTypes": [
        {
            "InstanceType": "m9g.large",
            "VCpuInfo": {"DefaultVCpus": 2},
            "MemoryInfo": {"SizeInMiB": 8192},
            "ProcessorInfo": {"SupportedArchitectures": ["arm64"]},
            "BurstablePerformanceSupported": False,
            "CurrentGeneration": True,
        },
        {
            "InstanceType": "t3.nano",
            "VCpuInfo": {"DefaultVCpus": 2},
            "MemoryInfo": {"SizeInMiB": 512},
            "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
            "BurstablePerformanceSupported": True,
        },
        {
            "InstanceType": "t2.nano",
            "VCpuInfo": {"DefaultVCpus": 1},
            "MemoryInfo": {"SizeInMiB": 512},
            "ProcessorInfo": {"SupportedArchitectures": ["i386", "x86_64"]},
            "BurstablePerformanceSupported": True,
        },
    ]
}


def test_what_types_are(tmp_path: Path) -> None:
    rows = instance_types_of_aws(write(tmp_path, TYPES), "2026-11-05")
    assert rows.facts["m9g.large"] | {"source": ""} == {
        "vcpus": 2,
        "memory_mb": 8192,
        "architecture": "arm64",
        "source": "",
        "date": "2026-11-05",
    }
    assert rows.facts["t3.nano"]["burstable"].credits_per_hour == 6
    assert "t2.nano" not in rows.facts
    assert "1 entries of burstable types, with credits that are not known, left out" in rows.warnings[0]


def test_news_update_what_there_was_and_keep_the_rest(tmp_path: Path) -> None:
    history = spot_prices_of_aws(write(tmp_path, {"SpotPriceHistory": HISTORY}), region="us-east-1")
    base = shipped_catalogue()
    catalogue, warnings = updated(base, [history])
    by_name = {row.name: row for row in catalogue.vm_types}
    assert by_name["c6i.large"].prices["spot"].date == "2026-11-03"
    before = {row.name: row for row in base.vm_types}
    assert by_name["c6i.large"].prices["on-demand"] == before["c6i.large"].prices["on-demand"]
    assert by_name["c6i.xlarge"] in base.vm_types
    assert len(catalogue.vm_types) == len(base.vm_types)
    assert any("x9.huge left out: prices are known, but not what the types are" in warning for warning in warnings)
    assert catalogue.description == base.description


def test_prices_that_are_older_than_those_there_are_said(tmp_path: Path) -> None:
    entries = [price(name, "us-east-1a", "0.05", "2021-02-08T00:00:00Z") for name in ("m5.large", "c6i.large")]
    news = spot_prices_of_aws(write(tmp_path, {"SpotPriceHistory": entries}))
    assert updated(shipped_catalogue(), [news])[1] == ["prices of c6i.large, m5.large took the place of newer ones"]
    assert updated(updated(shipped_catalogue(), [news])[0], [news])[1] == []


def test_types_that_are_wanted_by_name_are_added(tmp_path: Path) -> None:
    news = instance_types_of_aws(write(tmp_path, TYPES), "2026-11-05")
    catalogue, _ = updated(shipped_catalogue(), [news], types=["m9g.*"], region="us-east-1")
    assert [row.name for row in catalogue.vm_types[-1:]] == ["m9g.large"]
    assert catalogue.vm_types[-1].prices == {}
    assert len(updated(shipped_catalogue(), [news], region="us-east-1")[0].vm_types) == len(catalogue.vm_types) - 1
    with pytest.raises(SpotbagError, match="there is no VM type in the catalogue that this would make"):
        updated(None, [news], region="us-east-1")


SKYPILOT = """\
InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,AvailabilityZone,Arch
c6i.large,,,2.0,4.0,,0.085,0.035400,us-east-1,use1-az1,x86_64
c6i.large,,,2.0,4.0,,0.085,0.032600,us-east-1,use1-az2,x86_64
c6i.large,,,2.0,4.0,,0.085,0.013600,us-east-1,use1-atl2-az1,x86_64
c6i.large,,,2.0,4.0,,0.0912,0.044900,eu-west-1,euw1-az1,x86_64
m3.medium,,,1.0,3.75,,0.067,,us-east-1,use1-az1,i386
t4g.small,,,2.0,2.0,,0.0168,0.006,us-east-1,use1-az1,arm64
t2.small,,,1.0,2.0,,0.023,0.006,us-east-1,use1-az1,i386
p3.2xlarge,V100,1.0,8.0,61.0,"{'Gpus': []}",3.06,0.9,us-east-1,use1-az1,x86_64
"""


def test_rows_of_skypilot(tmp_path: Path) -> None:
    rows = rows_of_skypilot(write(tmp_path, SKYPILOT, "vms.csv"), "2026-07-09")
    catalogue, warnings = updated(None, [rows])
    found = {(row.name, row.region): row for row in catalogue.vm_types}
    assert set(found) == {
        ("c6i.large", "us-east-1"),
        ("c6i.large", "eu-west-1"),
        ("m3.medium", "us-east-1"),
        ("t4g.small", "us-east-1"),
    }
    row = found["c6i.large", "us-east-1"]
    assert (row.vcpus, row.memory_mb, row.architecture) == (2, 4096, "x86_64")
    assert row.prices["spot"].price_usd_per_hour == pytest.approx(0.034)
    assert row.prices["on-demand"].price_usd_per_hour == 0.085
    assert found["m3.medium", "us-east-1"].architecture == "x86_64"  # i386 is the first of several there
    assert "spot" not in found["m3.medium", "us-east-1"].prices
    assert found["t4g.small", "us-east-1"].burstable is not None
    assert [warning.split(": ", 1)[1] for warning in warnings] == [
        "1 rows of burstable types, with credits that are not known, left out",
        "1 rows of local zones left out",
        "1 rows with accelerators (--accelerators takes them) left out",
    ]
    assert "1 rows have no price" not in str(warnings)
    here, _ = updated(None, [rows_of_skypilot(tmp_path / "vms.csv", "2026-07-09", "us-east-1")], types=["c6i.*"])
    assert [(row.name, row.region) for row in here.vm_types] == [("c6i.large", "us-east-1")]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"SpotPriceHistory": []}, "SpotPriceHistory (an array) must have at least 1 entry"),
        ({"InstanceTypes": []}, "SpotPriceHistory is missing"),
        (
            {"SpotPriceHistory": [price("a", "us-east-1a", "cheap", "yesterday")]},
            "SpotPriceHistory 0: SpotPrice 'cheap' must be a price",
        ),
        (
            {"SpotPriceHistory": [price("a", "us-east-1a", "1", "2026-11-03T00:00:00Z", "SUSE")]},
            "has no price of Linux",
        ),
    ],
)
def test_histories_that_cannot_be_used(tmp_path: Path, document: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        spot_prices_of_aws(write(tmp_path, document))
    assert message in str(caught.value)


def test_tables_that_are_not_skypilots(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is no vms.csv of SkyPilot's catalogues: it has no column Inst"):
        rows_of_skypilot(write(tmp_path, "a,b\n1,2\n", "vms.csv"), "2026-07-09")
    wrong = SKYPILOT.replace("2.0,4.0,,0.085,0.035400", "two,4.0,,0.085,0.035400")
    with pytest.raises(InputError, match="line 2: vCPUs 'two' must be a number"):
        rows_of_skypilot(write(tmp_path, wrong, "vms.csv"), "2026-07-09")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("c6i.large,,,2.7,4.0,,0.085,0.03,us-east-1,use1-az1,x86_64", "vCPUs '2.7' must be a whole number"),
        ("c6i.large,,,2.0,4.0,,$0.085,0.03,us-east-1,use1-az1,x86_64", "Price '$0.085' must be a number, in digits"),
        ("c6i.large,,,2.0,4.0,,abc,0.03,us-east-1,use1-az1,x86_64", "Price 'abc' must be a number"),
        ("c6i.large,,,2.0,4.0,,0.085,1e309,us-east-1,use1-az1,x86_64", "SpotPrice '1e309' must be a number"),
        ("c6i.large,,,2.0,4.0,,0.085,0.0,us-east-1,use1-az1,x86_64", "SpotPrice '0.0' must be greater than or equal"),
        ("c6i.large,,,2.0,-4.0,,0.085,0.03,us-east-1,use1-az1,x86_64", "MemoryGiB '-4.0' must be greater than"),
        ("c9.large,,,2.0,1e9,,,,us-east-1,use1-az1,x86_64", "MemoryGiB '1e9' must be less than or equal"),
        (
            'c6i.large,,,2.0,4.0,,0.085,0.03,us-east-1,use1-az1,"x86_64',
            "has a quotation mark that is opened and not closed",
        ),
        ("c6i.large,,,2.0,4.0,,0.085,0.03,us-east-1,use1-az1", "has 10 cells, the first line 11"),
        ("c6i.large,,,2.0,4.0,,0.085,0.03,us-east-1,use1-az1,sparc", "Arch 'sparc' must be x86_64, i386, arm64 or"),
        ("c6i.large,,,2.0,4.0,,0.085,0.03,us-east-1,,x86_64", "AvailabilityZone '' must be an availability zone"),
        (
            "n2-standard-8,,,8.0,32.0,,0.4,0.1,us-central1,us-central1-a,",
            "InstanceType 'n2-standard-8 in us-central1' must be a VM type in a region of AWS",
        ),
        ("c6i.large,,,2.0,4.0,,0.4,0.1,eastus,,", "'c6i.large in eastus' must be a VM type in a region of AWS"),
        ("m3.medium,,,2.0,3.75,,0.067,,us-east-1,use1-az2,i386", "vCPUs '2.0' is '1.0' for m3.medium in line 3: which"),
        (
            "m3.medium,,,1.0,3.75,,0.068,,us-east-1,use1-az2,i386",
            "Price '0.068' is '0.067' for m3.medium in us-east-1 in",
        ),
        (
            "c6i.large,,,2.0,4.0,,0.0912,0.05,eu-west-1,euw1-az1,x86_64",
            "SpotPrice '0.05' is '0.044900' for c6i.large in eu-west-1 in euw1-az1 in line 2",
        ),
    ],
)
def test_rows_of_skypilot_that_cannot_be_right(tmp_path: Path, wrong: str, said: str) -> None:
    heading, *rows = SKYPILOT.splitlines()
    text = "\n".join([heading, rows[3], rows[4], wrong, rows[5]])
    with pytest.raises(InputError, match=r"vms.csv: line 4: ") as caught:
        rows_of_skypilot(write(tmp_path, text, "vms.csv"), "2026-07-09")
    assert said in str(caught.value)


def test_no_more_than_a_thousand_wrong_rows_of_skypilot_are_listed(tmp_path: Path) -> None:
    wrong = SKYPILOT.splitlines()[1].replace("us-east-1", "moon")
    text = "\n".join([SKYPILOT.splitlines()[0], *[wrong] * 1100])
    with pytest.raises(InputError, match=r"lines 2, 3, 4, 5, 6 and 995 more: InstanceType 'c6i.large in moon'"):
        rows_of_skypilot(write(tmp_path, text, "vms.csv"), "2026-07-09")


def test_a_catalogue_of_aws_without_zones_is_none_of_skypilot(tmp_path: Path) -> None:
    text = "InstanceType,vCPUs,MemoryGiB,Price,SpotPrice,Region,Zon\nc6i.large,2,4,0.085,,us-east-1,use1-az1\n"
    with pytest.raises(InputError, match="line 2: AvailabilityZone '' must be an availability zone of AWS"):
        rows_of_skypilot(write(tmp_path, text, "vms.csv"), "2026-07-09")


def test_a_price_that_is_empty_in_skypilots_catalogue_is_not_offered(tmp_path: Path) -> None:
    text = (
        SKYPILOT.splitlines()[0]
        + "\nm3.medium,,,1,3.75,,,,us-east-1,use1-az1,i386\nmac1.metal,,,12,32,,,,us-east-1,use1-az1,x86_64_mac\n"
    )
    rows = rows_of_skypilot(write(tmp_path, text, "vms.csv"), "2026-07-09")
    assert (list(rows.facts), rows.quotes) == (["m3.medium"], {})
    assert [warning.split(": ", 1)[1] for warning in rows.warnings] == [
        "1 rows of macOS left out",
        "1 rows have no price: none is offered there",
    ]
    with pytest.raises(InputError, match=r"line 1: has 2 columns 'Price': which of them counts"):
        rows_of_skypilot(write(tmp_path, text.replace("GpuInfo", "Price"), "vms.csv"), "2026-07-09")


@pytest.mark.parametrize(
    ("place", "key", "value", "said"),
    [
        ("VCpuInfo", "DefaultVCpus", 2.5, "InstanceTypes[0].VCpuInfo.DefaultVCpus 2.5 must be a whole number"),
        ("VCpuInfo", "DefaultVCpus", 10**9, "InstanceTypes[0].VCpuInfo.DefaultVCpus 1000000000 must be less than"),
        ("VCpuInfo", "DefaultVCpus", -4, "InstanceTypes[0].VCpuInfo.DefaultVCpus -4 must be greater than"),
        ("MemoryInfo", "SizeInMiB", 0, "InstanceTypes[0].MemoryInfo.SizeInMiB 0 must be greater than"),
        ("ProcessorInfo", "SupportedArchitectures", ["sparc"], "'sparc' must be one of x86_64, i386, arm64"),
    ],
)
def test_types_of_aws_that_cannot_be_right(tmp_path: Path, place: str, key: str, value: Any, said: str) -> None:
    document = json.loads(json.dumps(TYPES))
    document["InstanceTypes"][0][place][key] = value
    with pytest.raises(InputError) as caught:
        instance_types_of_aws(write(tmp_path, document), "2026-11-05")
    assert said in str(caught.value)


def test_a_type_of_aws_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    types = TYPES["InstanceTypes"]
    document = {"InstanceTypes": [*types, types[0] | {"VCpuInfo": {"DefaultVCpus": 4}}]}
    with pytest.raises(InputError, match=r"InstanceTypes\[3\]: InstanceType 'm9g.large' is a duplicate of Ins.*\[0\]"):
        instance_types_of_aws(write(tmp_path, document), "2026-11-05")


def test_a_catalogue_needs_zones_of_aws_and_keeps_all_digits(tmp_path: Path) -> None:
    entries = [price("a", "moon1-az1", "1", "2026-11-03T00:00:00Z")]
    with pytest.raises(InputError, match=r"SpotPriceHistory 0: zone 'moon1-az1' must be an availability zone of AWS"):
        spot_prices_of_aws(write(tmp_path, {"SpotPriceHistory": entries}))
    entries = [price("a", "us-east-1a", usd, "2026-11-03T00:00:00Z") for usd in ("0.0000004", "4e-7")]
    [quote] = spot_prices_of_aws(write(tmp_path, {"SpotPriceHistory": entries})).quotes.values()
    assert quote.price_usd_per_hour == 4e-7


GCP = """\
InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,AvailabilityZone,Price,SpotPrice
n2-standard-8,8.0,32.0,,,,us-central1,us-central1-a,0.38847,0.12701
n2-standard-8,8.0,32.0,,,,us-central1,us-central1-b,0.38847,0.12901
t2a-standard-4,4.0,16.0,,,,us-central1,us-central1-a,0.154,0.04
e2-medium,2.0,4.0,,,,us-central1,us-central1-a,0.0335,0.01
a2-highgpu-1g,12.0,85.0,,,,us-central1,us-central1-a,0.7,0.2
,,,A100,1.0,,us-central1,us-central1-a,2.9,1.1
"""
AZURE = """\
InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,Generation
Standard_D4s_v5,,,4.0,16.0,,0.192,0.0384,eastus,V2
Standard_D2pls_v5,,,2.0,4.0,,0.068,0.0136,eastus,V2
Standard_B2s,,,2.0,4.0,,0.0416,0.01,eastus,V2
"""


@pytest.mark.parametrize(
    ("text", "provider", "expected"),
    [
        (GCP, "gcp", {"n2-standard-8": ("x86_64", 0.12801), "t2a-standard-4": ("arm64", 0.04)}),
        (
            GCP.replace("AcceleratorName", "acceleratorname"),
            "gcp",
            {"n2-standard-8": ("x86_64", 0.12801), "t2a-standard-4": ("arm64", 0.04)},
        ),
        (AZURE, "azure", {"Standard_D4s_v5": ("x86_64", 0.0384), "Standard_D2pls_v5": ("arm64", 0.0136)}),
    ],
)
def test_catalogues_of_other_clouds_have_their_provider(
    tmp_path: Path, text: str, provider: str, expected: dict[str, tuple[str, float]]
) -> None:
    news = rows_of_skypilot(write(tmp_path, text, "vms.csv"), "2026-11-03")
    catalogue, _ = updated(None, [news])
    assert catalogue.provider == provider
    found = {row.name: (row.architecture, row.prices["spot"].price_usd_per_hour) for row in catalogue.vm_types}
    assert found == pytest.approx(expected)
    path = tmp_path / "prices.json"
    catalogue.write(path)
    (tmp_path / "t.csv").write_text("id,memory_gb,runtime_min\na,1,20\n")
    asked = Asked(7200, VmChoice(types=[next(iter(expected))], prices=path))
    assert instance_of_csv(tmp_path / "t.csv", asked).instance.cloud == provider
    with pytest.raises(SpotbagError, match=f"types of {provider} and of aws do not go into one catalogue: --base none"):
        updated(shipped_catalogue(), [news])


def test_types_with_accelerators_are_left_out_unless_asked_for_and_then_marked(tmp_path: Path) -> None:
    path = write(tmp_path, SKYPILOT, "vms.csv")
    catalogue, _ = updated(None, [rows_of_skypilot(path, "2026-07-09", "us-east-1", accelerators=True)])
    assert {row.name: row.accelerators for row in catalogue.vm_types if row.accelerators} == {"p3.2xlarge": "1 V100"}
    catalogue.write(tmp_path / "prices.json")
    chosen = {
        pattern: [row.name for row in chosen_rows(VmChoice(types=[pattern], prices=tmp_path / "prices.json"))]
        for pattern in ("*", "p3.2xlarge")
    }
    assert chosen == {"*": ["c6i.large", "m3.medium", "t4g.small"], "p3.2xlarge": ["p3.2xlarge"]}
    gpus = {"Gpus": [{"Name": "T4", "Count": 4, "Manufacturer": "NVIDIA"}]}
    entry = TYPES["InstanceTypes"][0] | {"InstanceType": "g9.large", "GpuInfo": gpus}
    path = write(tmp_path, {"InstanceTypes": [*TYPES["InstanceTypes"], entry]})
    rows = instance_types_of_aws(path, "2026-11-05")
    assert "g9.large" not in rows.facts
    assert any("1 entries with accelerators (--accelerators takes them) left out" in text for text in rows.warnings)
    assert instance_types_of_aws(path, "2026-11-05", accelerators=True).facts["g9.large"]["accelerators"] == "4 T4"


def test_products_with_a_network_and_zones_by_their_ids(tmp_path: Path) -> None:
    entries = [
        price("c6i.large", "use1-az4", "0.03", "2026-11-03T00:00:00Z", "Linux/UNIX (Amazon VPC)"),
        price("c6i.large", "apse2-az1", "0.04", "2026-11-03T00:00:00Z"),
    ]
    by_id = price("c6i.large", "", "0.05", "2026-11-03T00:00:00Z") | {"AvailabilityZoneId": "usgw1-az2"}
    rows = spot_prices_of_aws(write(tmp_path, {"SpotPriceHistory": [*entries, by_id]}))
    assert {region: quote.zones for (_, region, _), quote in rows.quotes.items()} == {
        "us-east-1": {"use1-az4": 0.03},
        "ap-southeast-2": {"apse2-az1": 0.04},
        "us-gov-west-1": {"usgw1-az2": 0.05},
    }


def listed(name: str, usd: str = "0.0960000000", **attributes: str) -> str:
    """An entry of the price list of AWS."""
    product = {
        "instanceType": name,
        "vcpu": "2",
        "memory": "8 GiB",
        "regionCode": "us-east-1",
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "physicalProcessor": "Intel Xeon",
        "locationType": "AWS Region",
    }
    term = {"priceDimensions": {"d": {"unit": "Hrs", "pricePerUnit": {"USD": usd}}}, "effectiveDate": "2026-11-01"}
    entry = {
        "product": {"productFamily": "Compute Instance", "attributes": product | attributes},
        "terms": {"OnDemand": {"t": term}},
        "publicationDate": "2026-11-02T10:00:00Z",
    }
    return json.dumps(entry)


def test_the_price_list_of_aws(tmp_path: Path) -> None:
    entries = [
        listed("m9.large"),
        listed("m9g.large", "0.08", physicalProcessor="AWS Graviton4 Processor", memory="1,024 GiB"),
        listed("m9.large", "0.2", operatingSystem="Windows"),
        listed("m9.large", "0.0", capacitystatus="AllocatedCapacityReservation"),
        listed("g9.large", "1", gpu="1"),
    ]
    path = write(tmp_path, {"PriceList": entries, "NextToken": "x"})
    rows = price_list_of_aws(path, "2026-11-05")
    assert {name: (quote.price_usd_per_hour, quote.date) for (name, _, _), quote in rows.quotes.items()} == {
        "m9.large": (0.096, "2026-11-02"),
        "m9g.large": (0.08, "2026-11-02"),
    }
    assert (rows.facts["m9g.large"]["architecture"], rows.facts["m9g.large"]["memory_mb"]) == ("arm64", 1024**2)
    text = "\n".join(rows.warnings)
    assert "1 prices with accelerators (--accelerators takes them) left out" in text
    assert "2 prices of other systems, tenancies or places left out" in text
    assert "is one of several pages" in text
    assert price_list_of_aws(path, "2026-11-05", accelerators=True).facts["g9.large"]["accelerators"] == "1 GPU"
    with pytest.raises(InputError, match="has no price of Linux \\(1 of no region\\)"):
        price_list_of_aws(write(tmp_path, {"PriceList": [listed("m9.large", regionCode="")]}), "2026-11-05")
    with pytest.raises(InputError, match=r"PriceList\[1\] 'm9.large': has another price in us-east-1 than before"):
        price_list_of_aws(write(tmp_path, {"PriceList": [entries[0], listed("m9.large", "0.1")]}), "2026-11-05")
    with pytest.raises(InputError, match="has vcpu, memory or a price that must be a number"):
        price_list_of_aws(write(tmp_path, {"PriceList": [listed("m9.large", vcpu="two")]}), "2026-11-05")
    with pytest.raises(InputError, match="has other vCPUs or another memory than before"):
        price_list_of_aws(write(tmp_path, {"PriceList": [entries[0], listed("m9.large", vcpu="64")]}), "2026-11-05")


@pytest.mark.parametrize("memory", ["0,05 GiB", "1,5 GiB", "0,512 GiB"])
def test_a_comma_in_a_memory_of_aws_stands_between_thousands_or_is_refused(tmp_path: Path, memory: str) -> None:
    with pytest.raises(InputError, match="has vcpu, memory or a price that must be a number"):
        price_list_of_aws(write(tmp_path, {"PriceList": [listed("m9.large", memory=memory)]}), "2026-11-05")


def retail(name: str, usd: float, sku: str = "D4s v5", **more: Any) -> dict[str, Any]:
    """An item of the retail prices of Azure."""
    return {
        "currencyCode": "USD",
        "retailPrice": usd,
        "armRegionName": "eastus",
        "unitOfMeasure": "1 Hour",
        "effectiveStartDate": "2026-10-01T00:00:00Z",
        "productName": "Virtual Machines Dsv5 Series",
        "skuName": sku,
        "serviceName": "Virtual Machines",
        "type": "Consumption",
        "armSkuName": name,
        **more,
    }


def test_retail_prices_of_azure(tmp_path: Path) -> None:
    items = [
        retail("Standard_D4s_v5", 0.192),
        retail("Standard_D4s_v5", 0.0384, "D4s v5 Spot"),
        retail("Standard_D4s_v5", 0.05, "D4s v5 Low Priority"),
        retail("Standard_D4s_v5", 0.376, productName="Virtual Machines Dsv5 Series Windows"),
        retail("Standard_D4s_v5", 1000, type="Reservation"),
        retail("Standard_D4s_v5", 0.2, armRegionName="westeurope"),
        retail("Standard_D4s_v5", 0.3, effectiveStartDate="2027-01-01T00:00:00Z"),
        retail("Standard_D4s_v5", 0.3, armRegionName=""),
    ]
    news = retail_prices_of_azure(write(tmp_path, {"Items": items}), "2026-11-05", "eastus")
    known = rows_of_skypilot(write(tmp_path, AZURE, "vms.csv"), "2026-07-01", "eastus")
    catalogue, warnings = updated(None, [known, news])
    [row] = [row for row in catalogue.vm_types if row.name == "Standard_D4s_v5"]
    assert {market: (quote.price_usd_per_hour, quote.date) for market, quote in row.prices.items()} == {
        "on-demand": (0.192, "2026-10-01"),
        "spot": (0.0384, "2026-10-01"),
    }
    assert sum("left out" in text for text in warnings) == 7
    assert sum("1 prices that begin later left out" in text for text in warnings) == 1
    with pytest.raises(InputError, match=r"Items\[0\] 'Standard_D4s_v5': retailPrice '1 EUR' must be in USD"):
        retail_prices_of_azure(
            write(tmp_path, {"Items": [retail("Standard_D4s_v5", 1, currencyCode="EUR")]}), "2026-11-05"
        )
    with pytest.raises(InputError, match="retailPrice '1e-12 USD' must be greater than or equal to 1e-09"):
        retail_prices_of_azure(write(tmp_path, {"Items": [retail("Standard_D4s_v5", 1e-12)]}), "2026-11-05")
