"""Comparison of replays with the paper on Caron and de Assuncao (2016)."""
