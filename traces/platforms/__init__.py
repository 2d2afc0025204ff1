"""Traces of platforms."""
