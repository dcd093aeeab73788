"""Evaluation of scores: conventions, metrics, statistics, explanations and the estimator."""
