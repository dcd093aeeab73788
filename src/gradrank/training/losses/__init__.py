"""The losses, one file per family. gradrank.training.loss describes their interface; gradrank.training.registry finds
them."""
