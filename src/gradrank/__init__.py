"""gradrank: a reproducible learning-to-rank benchmark."""

__version__ = "0.1.0"
