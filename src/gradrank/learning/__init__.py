"""What the models are trained with: losses, gradients, solvers, nets, early stopping, LETOR's protocol."""
