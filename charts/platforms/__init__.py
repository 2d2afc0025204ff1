"""Charts of replays of platforms."""
