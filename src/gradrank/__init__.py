"""gradrank: a reproducible learning-to-rank benchmark."""

from gradrank.processor import pin

__version__ = "0.1.0"

pin()  # before anything numeric is imported, here or in the program that imports this package
