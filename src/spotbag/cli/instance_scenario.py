"""``spotbag instance scenario``: scenarios, and single days of them, as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.errors import SpotbagError
from .arguments import check_output, load_instance, refuse_two_from_standard_input, warn, wrote
from .completion import names_of
from .instance_output import to_file
from .options import argument, option
from .scenario_options import ScenarioOptions, notes_of

if TYPE_CHECKING:
    from ..instances.entries import CloudName


def scenario_command(
    *,
    scenario: str = argument(
        "SCENARIO",
        "A name, such as hads/sc4, or a file: a day, a scenario, a trace of availability, a history of prices.",
        completes=names_of("instances.bags.scenarios", "SCENARIOS"),
    ),
    options: ScenarioOptions,
    day: int | None = option("K", "Only day K of the seed, for --instance.", min=0),
    instance: str | None = option("INSTANCE", "The instance that meets the day."),
    seed: int = option("SEED", "Seed of the day.", 0, min=0),
    cloud: str | None = option(
        "NAME",
        "Whose rules hold; that of the scenario, if it says so, if absent.",
        completes=names_of("instances.clouds", "CLOUDS"),
    ),
    name: str | None = option("NAME", "What it is called."),
    out: str | None = option("FILE", "Where to write it; standard output if absent or -."),
) -> None:
    """Write a scenario, or one day of it, as a file that --scenario of 'replay' takes."""
    from ..instances.bags.scenario_files import changed_scenario, format_scenario, write_scenario
    from ..instances.bags.scripted_days import ScriptedScenario
    from ..instances.clouds import find_cloud

    if (day is None) != (instance is None):
        raise SpotbagError("--day and --instance go together: which day, and for which instance it is drawn")
    path = to_file(out)
    check_output(path, scenario, instance)
    refuse_two_from_standard_input(scenario, instance)
    found = options.find(scenario)
    if day is not None and instance is not None:
        problem = load_instance(instance)
        timeline = found.day(problem, seed, day)
        warn(notes_of(found, problem))
        found = ScriptedScenario(timeline, scenario, found.cloud)
    named: CloudName | None = None if cloud is None else find_cloud(cloud).name  # type: ignore[assignment]
    found = changed_scenario(found, name=name, cloud=named)
    if path is None:
        print(format_scenario(found), end="")
        return
    write_scenario(found, path)
    wrote(path, found.name)
