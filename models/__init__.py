"""Exact models, and what plans and bounds rest on; nothing here is solved."""
