"""Ranking data: downloads, archives, artificial data, parsing, stored collections, and pairs of documents."""
