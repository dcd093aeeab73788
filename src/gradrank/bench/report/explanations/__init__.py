"""Explanations of the best methods of a data set: the stage that computes them for the report."""
