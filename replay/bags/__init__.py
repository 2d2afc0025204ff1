"""Replays of bags."""
