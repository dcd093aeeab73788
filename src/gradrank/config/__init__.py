"""What the workflow asks, what ties results to their making, and every private format of Snakemake and DVC."""
