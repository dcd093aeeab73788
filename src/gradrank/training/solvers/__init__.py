"""Training algorithms that are shared by several models."""
