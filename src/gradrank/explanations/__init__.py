"""Explanations of trained models: importance of features, and contributions of features to a difference of scores."""
