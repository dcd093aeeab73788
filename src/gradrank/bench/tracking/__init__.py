"""Import of finished results into MLflow through its client. `gradrank diff` reads the imported runs."""
