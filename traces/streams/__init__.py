"""Traces of streams."""
