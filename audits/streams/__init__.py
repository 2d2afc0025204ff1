"""Audits of replays of streams."""
