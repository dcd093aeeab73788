"""Finished results in MLflow, through its client: `runs.track` imports them, and `gradrank diff` reads them."""
