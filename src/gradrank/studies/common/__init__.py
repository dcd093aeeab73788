"""What studies share: their inputs, their tables, how a page is written."""
