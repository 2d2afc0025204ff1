"""What carries plans out: exports to the shell and to SkyPilot, and the logs that they leave."""
