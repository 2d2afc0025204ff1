"""Benchmarks of streams."""
