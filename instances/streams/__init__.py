"""Streams: jobs that arrive over time."""
