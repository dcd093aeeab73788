"""Linear RankSVM without a list of pairs: the objective, and its solvers in the primal and in the dual."""
