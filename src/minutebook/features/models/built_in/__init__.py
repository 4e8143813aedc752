"""The model in the box: derived once from its weights, run on onnxruntime."""
