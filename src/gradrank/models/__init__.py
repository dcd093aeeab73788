"""One file a model. To add one, write a file here: see gradrank.training.model for what it defines."""
