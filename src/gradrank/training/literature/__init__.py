"""Publications of methods and data sets, and the table of models."""
