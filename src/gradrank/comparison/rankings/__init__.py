"""Evaluation and comparison of rankings that are given as arrays or files."""
