"""Scoring forms as ONNX graphs, for the format `onnx`."""
