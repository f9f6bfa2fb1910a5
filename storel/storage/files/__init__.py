"""Tensors in files: Matrix Market, coordinate lists, NumPy's ``.npy`` and ``.npz``, Parquet and Arrow."""
