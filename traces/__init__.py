"""What happened: the events of a replay, read back, told and counted."""
