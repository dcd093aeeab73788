"""Neural networks: parameters, layers, scorers, and their training with torch."""
