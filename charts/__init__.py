"""Pictures of plans, traces, fronts."""
