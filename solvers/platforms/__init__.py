"""Methods of platforms."""
