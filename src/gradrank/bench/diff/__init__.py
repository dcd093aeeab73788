"""Comparison of two states of the results: `gradrank diff A B`.

read_state.py reads A and B, and returns one State for each. compare.py compares the two states. output.py, output.py,
output.py and output.py convert the comparison to the output formats. output.py finds the regressions that make a CI
job fail.
"""
