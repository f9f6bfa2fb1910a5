"""Tensors in files: Matrix Market, FROSTT's coordinate lists, and NumPy's ``.npy`` and ``.npz``."""
