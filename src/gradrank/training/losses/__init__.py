"""The losses, one per file. gradrank.training.loss describes their interface; gradrank.training.lookup finds them."""
