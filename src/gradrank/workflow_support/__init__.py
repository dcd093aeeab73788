"""Functions that the Snakefile and the rules call: they compute targets, inputs and options from params.yaml."""
