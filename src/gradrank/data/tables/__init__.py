"""Ranking data as tables: Parquet, CSV, TSV and data frames, with the role of each column."""
