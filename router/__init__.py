"""Decisions: which tool runs next. Selection is never permission."""
