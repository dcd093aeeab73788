"""Fair selection of parameters: random configurations of a model, compared on validation data only, then retrained."""
