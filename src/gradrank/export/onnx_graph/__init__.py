"""Scoring forms as ONNX graphs, for the format `onnx`. These modules import onnx, which an extra installs."""
