"""One file a model. To add one, write a file here: see gradrank.learning.model for what it defines."""
