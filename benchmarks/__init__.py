"""Benchmarks: what heuristics and bounds reach and how fast, and what papers print beside what is measured here."""
