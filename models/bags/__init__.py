"""Formulations of bags."""
