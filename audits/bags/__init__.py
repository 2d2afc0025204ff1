"""Audits of plans, and of their replays."""
