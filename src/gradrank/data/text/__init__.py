"""LETOR and SVMlight text: find the queries, check every line, and read the rows into arrays."""
