"""Modules that all other packages use: errors, files, the layout of results/, checksum files, and compiled code."""
