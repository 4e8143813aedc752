"""The built-in model: its files are derived when a wheel is built, and run on onnxruntime."""
