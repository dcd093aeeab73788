"""LETOR and SVMlight text: finding queries, checking lines and reading rows into arrays."""
