"""Traces of replays: events, read back, described and counted."""
