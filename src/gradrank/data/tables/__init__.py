"""Ranking data as tables: Parquet, CSV, TSV and data frames, and the roles of their columns."""
