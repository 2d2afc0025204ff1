"""Comparison of replays with the paper on A2HA."""
