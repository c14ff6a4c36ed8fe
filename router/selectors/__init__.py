"""Selectors: from a state and the tools on offer to a calibrated distribution over them."""
