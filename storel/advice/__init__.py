"""Advice on storage: the formats that hold a program's operands, by what the program then costs."""
