"""The folds of a method: training jobs, imported scores, evaluation, and values per query."""
