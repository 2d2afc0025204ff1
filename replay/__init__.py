"""What happens when a plan meets reality: spot VMs hibernate and resume, and policies react."""

from .auditor import AuditReport, Finding, audit
from .billing import PAPERS_BILLING, Billing
from .engine import Replay
from .front_door import Days, replay_day, replay_days, trace_day
from .outcome import Outcome, VmBill
from .plan import ReplayPlan, replay_plan
from .policies import POLICIES, Policy, find_policy
from .replay_gantt import write_replay_gantt
from .scenarios import SCENARIOS, Scenario, find_scenario
from .story import tell_story
from .summary import Estimate, PairedDifference, PolicySummary, compare_days, estimate, summarise
from .timeline import QUIET, Timeline, TimelineEvent
from .timeline_files import read_timeline, write_timeline
from .trace_files import Trace, read_traces, write_traces

__all__ = [
    "PAPERS_BILLING",
    "POLICIES",
    "QUIET",
    "SCENARIOS",
    "AuditReport",
    "Billing",
    "Days",
    "Estimate",
    "Finding",
    "Outcome",
    "PairedDifference",
    "Policy",
    "PolicySummary",
    "Replay",
    "ReplayPlan",
    "Scenario",
    "Timeline",
    "TimelineEvent",
    "Trace",
    "VmBill",
    "audit",
    "compare_days",
    "estimate",
    "find_policy",
    "find_scenario",
    "read_timeline",
    "read_traces",
    "replay_day",
    "replay_days",
    "replay_plan",
    "summarise",
    "tell_story",
    "trace_day",
    "write_replay_gantt",
    "write_timeline",
    "write_traces",
]
