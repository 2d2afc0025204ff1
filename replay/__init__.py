"""Replays of plans and policies: on a day, on a stream of jobs, or on jobs of a hybrid platform."""
