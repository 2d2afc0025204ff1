"""Audits of replays of platforms."""
