"""Wu et al., Can't Be Late, NSDI 2024: Uniform Progress."""
