"""Scripts behind the Makefile; they need the standard library alone."""
