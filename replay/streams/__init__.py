"""Replays of streams: jobs that arrive over time, on VMs that a policy rents."""
