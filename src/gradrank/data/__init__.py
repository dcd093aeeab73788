"""Ranking data: download, archives, artificial data, parsing, stored collections and pairs."""
