"""Bags on spot VMs: generators, the files of others, days and scenarios."""
