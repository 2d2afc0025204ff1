"""Comparison of replays with the paper on Burst-HADS."""
