"""Experiments, run from a checkout: python -m experiments.NAME."""
