"""Reports on plans of bags."""
