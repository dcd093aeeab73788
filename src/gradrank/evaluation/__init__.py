"""Evaluation of scores: conventions, metrics, values per query, statistics and published numbers."""
