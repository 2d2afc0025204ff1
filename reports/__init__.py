"""Reports: pages on a plan, on replays, on an experiment."""
