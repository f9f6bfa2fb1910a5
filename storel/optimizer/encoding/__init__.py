"""Terms as text of the e-graph library, with either encoding of binders."""
