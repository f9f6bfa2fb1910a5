"""Arrays → entries: a mapping is enumerated, and what it would read is known before."""
