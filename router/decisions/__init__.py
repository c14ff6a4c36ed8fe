"""Decisions that can be checked: records of them, and what is made of records.

Nothing is imported here. ``record`` holds what a decision's receipt is, ``store`` the SQLite file,
``recorder`` what a router calls, ``privacy`` and ``places`` what is kept and where, ``transfer``
JSONL.
"""
