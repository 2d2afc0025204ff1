"""The library of named instances, and what generates it."""
