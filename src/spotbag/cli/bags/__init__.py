"""Commands of bags."""
