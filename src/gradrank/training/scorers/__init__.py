"""The scorers that torch trains, one per file. The function with the name of the file creates the scorer."""
