"""`python -m benchmarks`: every figure that the project promises, measured in one run beside its floor and goal."""
