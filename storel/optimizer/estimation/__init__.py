"""How many entries, iterations and pairs a term has, by the statistics of its tensors."""
