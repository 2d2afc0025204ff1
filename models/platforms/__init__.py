"""Formulations and bounds of platforms."""
