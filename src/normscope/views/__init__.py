"""One reading of a program a file, each a table with one rule per op."""
