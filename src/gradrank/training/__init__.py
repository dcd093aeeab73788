"""What a model is and how one is trained: jobs, losses, solvers, nets, selection on validation."""
