"""What "Inside LayerNorm" says at each step: a question, and what to notice."""

from ...norm import Norm
from .words_back import BACK, ONES, RMS_BACK, Words

LAYER_NORM = {
    "x": Words(
        "Which cells belong together?",
        "Each row is one token's vector of d features. The layer treats every row by itself; batch and "
        "sequence only say how many rows there are.",
    ),
    "mu": Words(
        "What is the level of each row?",
        "The sum runs along d alone, so there is one mean a row, kept with shape (B, S, 1). No other row takes part.",
    ),
    "c": Words(
        "How far is each cell from its row's mean?",
        "The mean is used once for every feature of its row: the hollow cells are repeats, not copies in memory. "
        "A centered row sums to 0.",
    ),
    "q": Words(
        "How far, whatever the sign?",
        "Squares drop the sign and favour what is far away: one outlier outweighs the rest of its row from here on.",
    ),
    "var": Words(
        "How spread out is each row?",
        "The sum is divided by d, not by d − 1 (PyTorch's correction = 0), and again there is one number a row.",
    ),
    "r": Words(
        "Which factor brings each row to unit spread?",
        "eps stands inside the root, so that a constant row is not divided by zero. The factor is computed once "
        "a row and takes the variance's place in memory.",
    ),
    "mr": Words(
        "What comes off every cell of a row?",
        "PyTorch's CPU kernel for narrow formats takes x·r − μ·r where the textbook has (x − μ)·r: one multiply-add "
        "a cell. This product is one number a row.",
    ),
    "xr": Words(
        "How large is each cell by its row's factor?",
        "This product is not rounded on its own: a fused multiply-add reads it whole, and only x̂ is rounded.",
    ),
    "w": Words(
        "What is stored in gamma's place?",
        "Gemma keeps w = γ − 1 in the narrow format, and gamma nowhere: near 0 a format is finer than near 1.",
    ),
    "gain": Words(
        "What is the factor, then?",
        "The 1 is added again in float32, so that the factor is not rounded to the narrow format.",
    ),
    "xhat": Words(
        "What is left of the rows' levels and spreads?",
        "A row that is not constant now has mean 0 and variance σ²/(σ² + eps): 1, or just under it. "
        "Only its pattern is left.",
    ),
    "scaled": Words(
        "How large may each feature be?",
        "gamma has one number a feature, shared by every row: a column shares its factor, as a row shared its mean.",
    ),
    "y": Words(
        "Where does each feature sit?",
        "beta too has one number a feature, shared by every row. A row of y need not have mean 0 or variance 1.",
    ),
}
RMS_NORM = {
    "q": Words(
        "How large is each cell, whatever the sign?",
        "RMSNorm subtracts no mean: it squares x itself. One outlier outweighs the rest of its row from here on.",
    ),
    "var": Words(
        "How large is each row on the whole?",
        "The mean square takes the place of the variance: one number a row. A row's level counts as size here.",
    ),
    "r": Words(
        "Which factor brings each row to mean square 1?",
        "eps stands inside the root, so that a row of zeros is not divided by zero. The factor is computed once a "
        "row and takes the mean square's place in memory.",
    ),
    "xhat": Words(
        "What is left of the rows' sizes?",
        "A row that is not zero now has mean square m/(m + eps): 1, or just under it. Its mean is scaled, not removed.",
    ),
    "y": Words(
        "How large may each feature be?",
        "gamma has one number a feature, shared by every row. RMSNorm has no beta, so this is the output.",
    ),
}
WITHOUT_BETA = Words(
    "How large may each feature be?",
    "gamma has one number a feature, shared by every row. This layer has no beta, so this is the output.",
)

OFFSET = Words(
    "What is the factor, then?",
    "This layer keeps gamma less 1, as Gemma does: 0 in its memory stands for a factor of 1. The 1 is added where "
    "gamma is used; a port that forgets it multiplies by almost nothing.",
)

UNDEFINED = (
    "In this row variance + eps is 0, so r is ∞; x̂ is 0 · ∞, which is NaN. What is said here of a row holds for "
    "others, and for this one with a larger eps."
)


def words(name: str, norm: Norm) -> Words:
    """The words of a step of a norm."""
    if name == "gain" and norm.offset:
        return OFFSET
    if name in BACK:
        return BACK[name] if norm.center else RMS_BACK.get(name, BACK[name])
    if name == "y" and not norm.shift:
        return WITHOUT_BETA if norm.center else RMS_NORM["y"]
    return LAYER_NORM[name] if norm.center else RMS_NORM.get(name, LAYER_NORM[name])


def notices(name: str, norm: Norm, ones: bool, dtype: str) -> list[str]:
    """What to notice at a step; with a dy of ones also what becomes of the loss y.sum(), rounded to a dtype."""
    own = [words(name, norm).notice]
    return [*own, ONES[norm.center, norm.scale].format(dtype=dtype)] if name == "dx" and ones else own
