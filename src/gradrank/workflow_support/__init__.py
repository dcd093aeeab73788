"""What the Snakefile and the rules call: targets, inputs and command-line options, computed from params.yaml."""
