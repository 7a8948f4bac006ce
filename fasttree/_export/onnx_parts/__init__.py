"""Parts of the writer of ONNX models: the walk of the trees, and the graph."""
