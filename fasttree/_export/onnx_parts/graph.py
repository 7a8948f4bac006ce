"""The parts of an ONNX graph as they are written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Graph"]

ML_OPSET = 3


class Graph:
    """Nodes, constants, inputs and outputs of a model, with distinct names."""

    def __init__(self, onnx: Any, dtype: str) -> None:
        self.onnx = onnx
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.element = onnx.helper.np_dtype_to_tensor_dtype(self.dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.ml_opset = ML_OPSET
        self.codes: dict[int, str] = {}  # of features with categories: the column of the category's number in each cell
        self._names: set[str] = set()

    def name(self, wanted: str) -> str:
        """Return the name, with underscores added until it is new."""
        while wanted in self._names:
            wanted += "_"
        self._names.add(wanted)
        return wanted

    def add_input(self, name: str, element: int, width: int) -> str:
        name = self.name(name)
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, element, [None, width]))
        return name

    def add_output(self, name: str, element: int, shape: list[int | None]) -> None:
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, element, shape))

    def constant(self, name: str, values: NDArray[Any]) -> str:
        name = self.name(name)
        self.constants.append(self.onnx.numpy_helper.from_array(values, name))
        return name

    def add(
        self,
        operator: str,
        inputs: Iterable[str],
        *,
        output: str | None = None,
        node_name: str = "",
        ml: bool = False,
        **attributes: Any,
    ) -> str:
        """Add a node with one output and return the output's name."""
        output = output or self.name(f"fasttree.{operator}{len(self.nodes)}")
        domain = "ai.onnx.ml" if ml else ""
        node = self.onnx.helper.make_node(operator, list(inputs), [output], name=node_name or output, domain=domain, **attributes)
        self.nodes.append(node)
        return output

    def cast(self, source: str, element: int) -> str:
        return self.add("Cast", [source], to=element)
