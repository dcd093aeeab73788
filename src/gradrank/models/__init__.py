"""The models, each in one file or one folder. gradrank.training.model describes what such a file defines."""
