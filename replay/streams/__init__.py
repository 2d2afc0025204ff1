"""Replays of job streams: jobs that arrive over time, on VMs that a policy rents."""
