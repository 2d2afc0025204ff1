"""Traces of bags."""
