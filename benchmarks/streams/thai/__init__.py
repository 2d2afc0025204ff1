"""Comparison of replays with the paper on Thai et al. (2015)."""
