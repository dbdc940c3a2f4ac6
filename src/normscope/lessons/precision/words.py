"""What "Precision" says."""

from collections.abc import Mapping

LEAD = (
    "A row goes through the norm with every step really rounded, as real code keeps it; errors are in units in the "
    "last place (ulp)."
)
SEEDED = {
    "normal": "Seeded numbers with this mean and spread, the same ones whenever you come back.",
    "even": "Evenly spaced numbers with this mean and spread.",
    "outlier": "Seeded numbers, one of them far from the rest, with this mean and spread.",
}
KINDS: Mapping[str, str] = {
    "float64": "every step in float64",
    "float32": "every step in float32",
    "pytorch-fp32": "PyTorch’s float32 CPU kernel",
    "onnxruntime": "ONNX Runtime’s kernel",
    "pytorch": "PyTorch’s CPU kernel: x · r − mean · r in float32",
    "statistics": "float32 statistics, other steps rounded",
    "steps": "every step rounded, sums added in float32",
    "llama": "normalize in float32, cast, then scale",
    "gemma": "scale by 1 + w in float32, then cast",
    "naive": "every step and partial sum rounded",
}
LINES = {
    "x": "x",
    "stored": "x stored",
    "exact": "y, float64",
    "y": "y, rounded",
    "error": "error, ulp",
}
WAYS = {
    "two-pass": "mean of (x − mean)²",
    "one-pass": "mean of x², less mean²",
    "chunked": "chunks, then merged",
    "Welford": "one number after the other",
    "storage": "the stored row itself",
}
QUESTION = "What does the one-pass variance, mean of x² less mean², come to here?"
GUESSES = {
    "near": "Within 1% of the exact one",
    "off": "More than 1% off, or no number",
    "zero": "0, and the exact one is not",
    "negative": "Less than 0",
}
OUTCOMES = {
    "near": "it keeps its leading digits: mean² is not much larger than the variance, or the numbers came out even.",
    "off": "mean of x² and mean² agree in their leading digits, and what is left of them is mostly rounding.",
    "beyond": "a square, or the sum of them, is beyond the largest number of the format.",
    "zero": "mean of x² and mean² round to the same number, and nothing is left.",
    "negative": "both are rounded, and the second came out larger. Below −eps, the root of var + eps is no number.",
}
NOTES = (
    "The error of y is in ulps of the storage format at the row’s largest |y|, beside float64 of x as it was given; "
    "what storing x loses is part of it.",
    "The curves are of a row of the same shape with spread 1. Multiplying a row by a power of two changes none of "
    "them, as long as nothing overflows or underflows.",
    "Sums are added in float64 and rounded once, but for the naive policy and Welford’s updates, which round every "
    "addition. Real kernels lie between.",
    "The curves end where the stored row is no finite number, or has no variance left: then no way of computing "
    "brings it back.",
)
