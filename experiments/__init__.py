"""Experiments: methods compared on families of instances, best known values, and what is judged of both."""
