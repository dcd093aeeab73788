"""Neural networks: their parameters, layers and scorers, and their training with torch."""
