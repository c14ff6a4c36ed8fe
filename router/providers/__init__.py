"""Decision providers: remote models that answer one choice among named options."""
