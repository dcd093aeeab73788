"""LETOR and SVMlight text: positions of queries, checks of lines, and parsing of rows into arrays."""
