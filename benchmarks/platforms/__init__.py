"""Benchmarks of platforms."""
