"""Comparison of rankings: statistics, tests, intervals, confidence sets and power."""
