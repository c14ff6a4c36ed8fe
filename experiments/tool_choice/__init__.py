"""Choosing the next tool: data, features, fit and report of the local selector."""
