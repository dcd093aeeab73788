"""The code behind the Snakefile and its rules: it computes targets, inputs and options from params.yaml."""
