"""Experiments on bags of tasks."""
