"""Commands of platforms."""
