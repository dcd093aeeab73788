"""Helpers shared by the studies: inputs, templates of pages, claims, tables of comparisons and tests, written files."""
