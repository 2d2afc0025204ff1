"""Formulations and bounds of bags."""
