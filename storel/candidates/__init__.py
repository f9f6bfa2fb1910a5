"""Which formats hold a tensor, found by packing it; no format is known by name."""
