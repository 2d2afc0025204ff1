"""What happens when plans and policies meet a day, a stream of jobs, or jobs on a hybrid platform."""
