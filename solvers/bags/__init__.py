"""Methods of bags."""
