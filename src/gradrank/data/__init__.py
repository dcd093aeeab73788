"""Text to Collection: catalogue, download, archives, parsing, pairs, artificial data."""
