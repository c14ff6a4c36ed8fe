"""Benchmarks, run from a checkout: make bench. Each compares with a peer or a floor in one run."""
