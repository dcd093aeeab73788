"""Modules that all other packages use: errors, files, checksum files, and compiled code."""
