"""Compute the rows of the result tables, and write the tables as CSV, Markdown and LaTeX."""
