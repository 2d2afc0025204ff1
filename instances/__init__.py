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
from .job_draws import DrawnJobs, draw_jobs
from .job_stream import Application, Job, JobStream, JobVmType
from .job_stream_files import (
    format_job_stream,
    job_stream_names,
    job_stream_schema,
    library_job_stream,
    parse_job_stream,
    read_job_stream,
    write_job_stream,
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
from .run_times import (
    ConstantRunTimes,
    LognormalRunTimes,
    NormalRunTimes,
    RunTimes,
    SampledRunTimes,
    UniformRunTimes,
)

__all__ = [
    "MARKETS",
    "Application",
    "BestKnown",
    "Burstable",
    "Checkpoints",
    "ConstantRunTimes",
    "Distribution",
    "DrawnJobs",
    "InputError",
    "Instance",
    "Issue",
    "Job",
    "JobStream",
    "JobVmType",
    "KnownOptimum",
    "Limits",
    "LognormalRunTimes",
    "Market",
    "NormalRunTimes",
    "Objective",
    "Offer",
    "Provenance",
    "RentalOffer",
    "RunTimes",
    "SampledRunTimes",
    "SpotbagError",
    "Task",
    "UniformRunTimes",
    "VmType",
    "best_known",
    "draw_jobs",
    "format_instance",
    "format_job_stream",
    "generate_instance",
    "instance_schema",
    "instance_warnings",
    "job_stream_names",
    "job_stream_schema",
    "library_instance",
    "library_job_stream",
    "library_names",
    "parse_instance",
    "parse_job_stream",
    "read_instance",
    "read_job_stream",
    "write_instance",
    "write_job_stream",
]
