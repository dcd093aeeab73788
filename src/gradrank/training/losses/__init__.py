"""The losses, a file each: found by its name, with a function of that name. What one is: gradrank.training.loss."""
