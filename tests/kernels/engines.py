"""The ways to compute that the tests of the kernels compare: the fallback, and those of the C code."""

from normscope.kernels import fallback

ENGINES = {"numpy": fallback}
