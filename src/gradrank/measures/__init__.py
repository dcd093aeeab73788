"""Conventions, metrics and their values per query, and the files of judgements and scores that they are computed
from."""
