"""What happened: the events of a replay, read back, described and counted."""
