"""Values that are computed once: named, hoisted, tabulated, marked, collected."""
