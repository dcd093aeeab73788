"""Decisions about differences between methods."""
