"""Linear RankSVM: the objective, and solvers in the primal and in the dual."""
