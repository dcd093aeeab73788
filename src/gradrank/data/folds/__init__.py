"""Division of a user's own data into folds and parts."""
