"""The models. Each model is one file or one folder; gradrank.training.model describes what a model file defines."""
