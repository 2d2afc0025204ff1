"""Checks of plans and traces, by code that shares nothing with what makes them."""
