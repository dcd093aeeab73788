"""The model formats, one file per format. gradrank.model_formats.lookup finds them by name."""
