"""Charts of replays of streams."""
