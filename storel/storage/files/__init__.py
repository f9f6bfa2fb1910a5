"""Tensors in files: Matrix Market, FROSTT's coordinate lists, and NumPy's ``.npy`` and ``.npz``."""

from storel.storage.files.contents import Contents, Coordinates, DenseValues, StoredArrays
from storel.storage.files.kinds import read, read_arrays, save

__all__ = ["Contents", "Coordinates", "DenseValues", "StoredArrays", "read", "read_arrays", "save"]
