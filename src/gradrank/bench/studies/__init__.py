"""Helpers shared by the studies: inputs, page sections, tables of comparisons and tests, and written files."""
