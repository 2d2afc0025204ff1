"""The problem: instances, their files, generators and library."""
