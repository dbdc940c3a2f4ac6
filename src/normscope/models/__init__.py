"""Norms found in real models: graphs, weights, modules."""
