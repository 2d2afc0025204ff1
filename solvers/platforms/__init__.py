"""Bounds of platforms, and the prices that prove them."""
