"""The interface of models and their training: jobs, losses, solvers, neural networks and selection on validation."""
