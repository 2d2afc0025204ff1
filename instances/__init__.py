"""The problem: instances, their files, generators and library."""

from .best_known import BestKnown, best_known
from .errors import InputError, Issue, SpotbagError
from .generator import Distribution, generate_instance
from .instance_files import (
    format_instance,
    instance_schema,
    instance_warnings,
    parse_instance,
    read_instance,
    write_instance,
)
from .library import library_instance, library_names
from .problem import (
    MARKETS,
    Burstable,
    Checkpoints,
    Instance,
    KnownOptimum,
    Limits,
    Market,
    Objective,
    Offer,
    Provenance,
    RentalOffer,
    Task,
    VmType,
)

__all__ = [
    "MARKETS",
    "BestKnown",
    "Burstable",
    "Checkpoints",
    "Distribution",
    "InputError",
    "Instance",
    "Issue",
    "KnownOptimum",
    "Limits",
    "Market",
    "Objective",
    "Offer",
    "Provenance",
    "RentalOffer",
    "SpotbagError",
    "Task",
    "VmType",
    "best_known",
    "format_instance",
    "generate_instance",
    "instance_schema",
    "instance_warnings",
    "library_instance",
    "library_names",
    "parse_instance",
    "read_instance",
    "write_instance",
]
