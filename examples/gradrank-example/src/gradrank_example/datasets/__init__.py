"""Data sets, which catalogue.yaml describes."""
