"""Bridges to packages that gradrank does not depend on: PyTerrier, ranx, ir_measures, MLflow and Optuna."""
