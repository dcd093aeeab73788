"""A builder of ONNX graphs: nodes are added one after another, and values are passed by name."""

from typing import Any

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper  # pyright: ignore[reportMissingImports] - an extra

OPSET, ML_OPSET, IR_VERSION = 18, 5, 10  # TreeEnsemble is in version 5 of ai.onnx.ml
ML = "ai.onnx.ml"
INPUT, OUTPUT = "features", "scores"


class Graph:
    """An ONNX graph under construction. Methods return the names of values."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, value: Any, dtype: type | np.dtype | None = None) -> str:
        """Return the name of a constant. dtype: its type; None for the type that NumPy gives to the value."""
        name = f"constant{len(self._constants)}"
        array = np.array(value, dtype, order="C")
        self._constants.append(numpy_helper.from_array(array, name))
        return name

    def node(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node with one output, and return the name of the output."""
        name = f"{operator}{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [name], name, domain=domain, **attributes))
        return name

    def halves(self, value: str) -> tuple[str, str]:
        """Return the first and the second half of a value along its last axis."""
        names = f"Split{len(self._nodes)}first", f"Split{len(self._nodes)}second"
        self._nodes.append(helper.make_node("Split", [value], list(names), names[0], axis=-1, num_outputs=2))
        return names

    def cast(self, value: str, dtype: type | np.dtype) -> str:
        """Convert a value to a type, such as np.float32."""
        return self.node("Cast", value, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def model(self, features: int, rows: str, scores: str, description: str, metadata: dict[str, str]) -> bytes:
        """Return the serialised model.

        The input `features` is a (rows, d) float32 matrix, and the output `scores` a (rows, 1) float64 matrix.

        Parameters
        ----------
        features
            The number of features d.
        rows
            The name of the first axis.
        scores
            The (rows, 1) float64 value that is the output.
        description
            The documentation of the model.
        metadata
            The metadata of the model.
        """
        self._nodes.append(helper.make_node("Identity", [scores], [OUTPUT], OUTPUT))
        graph = helper.make_graph(
            self._nodes,
            "gradrank",
            [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, [rows, features])],
            [helper.make_tensor_value_info(OUTPUT, TensorProto.DOUBLE, [rows, 1])],
            self._constants,
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
        model = helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="gradrank", doc_string=description
        )
        helper.set_model_props(model, metadata)
        checker.check_model(model)
        return model.SerializeToString(deterministic=True)
