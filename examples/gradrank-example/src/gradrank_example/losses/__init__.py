"""Losses, one per file. The function has the same name as its file."""
