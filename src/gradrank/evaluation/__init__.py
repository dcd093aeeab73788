"""Scores to numbers: conventions, metrics, values a query, statistics, published numbers."""
