"""Formulations and bounds of streams."""
