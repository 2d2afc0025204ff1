"""Comparison of replays with the paper on HADS."""
