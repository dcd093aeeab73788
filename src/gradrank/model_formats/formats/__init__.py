"""The model formats, one file per format."""
