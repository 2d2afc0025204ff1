"""Charts of plans of bags, of their replays, fronts and convergence."""
