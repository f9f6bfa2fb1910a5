"""What a kernel goes through after lowering."""
