"""One file a model. To add one, write a file here: see gradrank.model for what it defines."""
