"""The model formats, one file per format. gradrank.export.lookup finds them by name."""
