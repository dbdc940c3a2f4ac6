"""What "Inside LayerNorm" says on the way back: a question, and what to notice."""

from collections.abc import Mapping
from typing import NamedTuple


class Words(NamedTuple):
    """A question to look with, and at most two sentences on what there is to see."""

    question: str
    notice: str


BACK: Mapping[str, Words] = {
    "dy": Words(
        "How does the loss move with each cell of y?",
        "dy is given: it comes from whatever reads y. The loss here is sum(dy · y), so you may set dy as you set x; "
        "rows that are not shown have a dy of 0.",
    ),
    "dbeta": Words(
        "What did every row do with beta?",
        "beta was added in every row, so its gradient is the sum of dy over all rows, a number a feature. "
        "Going forward it was repeated; going back that is a sum.",
    ),
    "dgamma": Words(
        "What did every row do with gamma?",
        "gamma met x̂ in every row, so x̂ is needed once more: it is saved by the forward pass or, as in PyTorch, "
        "computed again from x, μ and r. The products are added over all rows.",
    ),
    "dxhat": Words(
        "What is left of dy behind the scale?",
        "gamma multiplies on the way back as it did on the way there. From here on every row is on its own again.",
    ),
    "mean_dxhat": Words(
        "What does the row's level cost?",
        "Moving x moves μ, and μ moves every cell of the row: the mean of dx̂ comes off. μ moves the variance too, but "
        "by way of mean(x̂), which is 0, so that this term is gone.",
    ),
    "mean_dxhat_xhat": Words(
        "How far does dx̂ point along x̂?",
        "Moving x along x̂ only spreads the row, and r takes the spread out again. This mean says how much of dx̂ is "
        "spent on that.",
    ),
    "centered": Words(
        "What is left without the common part?",
        "A shift of the whole row changes no x̂, so dx̂ may not ask for one: its row now sums to 0.",
    ),
    "along": Words(
        "Which part of dx̂ would only spread the row?",
        "x̂ times its mean with dx̂: the shadow of dx̂ on x̂. It has mean 0 already, since x̂ has.",
    ),
    "across": Words(
        "What can x still do?",
        "Of d directions a row that is not constant loses two: the common shift and x̂ itself. What is left has no "
        "part along either, but for eps, which leaves a little along x̂.",
    ),
    "dx": Words(
        "How does the loss move with each cell of x?",
        "A row with a small spread has a large r, and so a large gradient. For all this the forward pass saved x̂ and "
        "r, or x, μ and r; c, q and the variance are not needed again.",
    ),
}
RMS_BACK: Mapping[str, Words] = {
    "mean_dxhat_xhat": Words(
        "How far does dx̂ point along x̂?",
        "Moving x along x̂ only makes the row larger, and r takes that out again. RMSNorm subtracts no mean, so this "
        "is the only one on the way back.",
    ),
    "along": Words(
        "Which part of dx̂ would only make the row larger?", "x̂ times its mean with dx̂: the shadow of dx̂ on x̂."
    ),
    "across": Words(
        "What can x still do?",
        "Of d directions a row that is not zero loses one, x̂ itself. What is left has no part along it, but for eps, "
        "which leaves a little.",
    ),
    "dx": Words(
        "How does the loss move with each cell of x?",
        "A row that is small has a large r, and so a large gradient. For all this the forward pass saved x̂ and r, or x "
        "and r.",
    ),
}
# The loss y.sum(), by whether the norm takes a mean off and whether it scales.
ONES: Mapping[tuple[bool, bool], str] = {
    (True, False): "dy is all ones here, the loss is y.sum(): every row of y sums to 0 whatever x is, so dx is 0; "
    "what is left of it is rounding, to {dtype} here.",
    (
        True,
        True,
    ): "dy is all ones here, the loss is y.sum(). Only gamma makes dx differ from 0: without it every row of "
    "y would sum to 0 whatever x is. Choose Affine: none to see it.",
    (False, False): "dy is all ones here, the loss is y.sum(). Under RMSNorm dx is not 0: no mean was taken off.",
    (
        False,
        True,
    ): "dy is all ones here, the loss is y.sum(). Under RMSNorm dx is not 0, with gamma or without: no mean "
    "was taken off.",
}
