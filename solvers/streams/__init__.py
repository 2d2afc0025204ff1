"""Methods of streams."""
