"""Training algorithms that several models share."""
