"""Execution of plans: exports to the shell and to SkyPilot, Dask clusters, and the logs of the runs."""
