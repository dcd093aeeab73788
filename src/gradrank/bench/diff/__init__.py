"""Comparison of two states of the results: `gradrank diff A B`.

read_state.py reads A and B, and returns one State for each. compare.py compares the two states. text.py, markdown.py,
html.py and as_json.py convert the comparison to the output formats. regression.py finds the regressions that make a CI
job fail.
"""
