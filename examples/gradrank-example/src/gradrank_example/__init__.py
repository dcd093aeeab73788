"""An example of a package that extends gradrank with a model, a loss and a data set."""
