"""`gradrank diff A B`: what changed between two states of the results, what moved, and whether that is real.

sides.py reads A and B, whatever they are, into a Side; compare.py makes a Comparison of two; text.py,
markdown.py, html.py and as_json.py show it; regression.py judges it for a CI job.
"""
