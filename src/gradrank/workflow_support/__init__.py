"""The functions of the Snakefile and the rules: they compute targets, inputs and options from params.yaml."""
