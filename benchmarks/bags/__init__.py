"""Benchmarks of bags."""
