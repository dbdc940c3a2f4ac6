"""How frameworks name the same thing: which axes `axis` means, and which value the momentum weighs.

Read in PyTorch 2.13's and Keras 3's documentation and code (https://docs.pytorch.org/docs/stable/nn.html,
https://keras.io/api/layers/normalization_layers, keras/src/layers/normalization).
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from .axes import Axes
from .errors import NormError
from .norm import Norm


class Convention(NamedTuple):
    """How a framework updates the running statistics of a BatchNorm.

    momentum    its default
    weighs_new  the momentum is the share of the new value; else it is that of the old one
    correction  the batch's variance that is taken over divides by n less this
    rule        the update in words
    """

    title: str
    momentum: str
    weighs_new: bool
    correction: int
    rule: str

    def share(self, momentum: object) -> Fraction:
        """The share of the new value, exact for a decimal.

        >>> PYTORCH.share(0.1), KERAS.share("0.99")
        (Fraction(1, 10), Fraction(1, 100))

        Raises NormError if the momentum is no number from 0 to 1.
        """
        try:
            value = Fraction(str(float(momentum)))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            value = Fraction(-1)
        if isinstance(momentum, bool) or not 0 <= value <= 1:
            raise NormError(f"momentum is {momentum!r}; it must be a number from 0 to 1.")
        return value if self.weighs_new else 1 - value

    def momentum_for(self, share: Fraction) -> Fraction:
        """The momentum that gives the new value this share.

        >>> float(KERAS.momentum_for(Fraction(1, 10)))
        0.9
        """
        return share if self.weighs_new else 1 - share


PYTORCH = Convention("PyTorch", "0.1", True, 1, "new = (1 − momentum) × old + momentum × batch")
KERAS = Convention("Keras", "0.99", False, 0, "new = momentum × old + (1 − momentum) × batch")
CONVENTIONS: Mapping[str, Convention] = {"pytorch": PYTORCH, "keras": KERAS}


class Place(NamedTuple):
    """What the sentences need of a norm on an x of some shape.

    at       the reduced dimensions of x
    feature  the dimension of x whose positions are kept, or split into groups
    first    the shape of x as PyTorch wants it, features at dimension 1
    """

    norm: Norm
    shape: tuple[int, ...]
    at: tuple[int, ...]
    feature: int
    first: tuple[int, ...]

    @property
    def reduced(self) -> str:
        """The reduced axes."""
        return " ".join(self.norm.over)

    @property
    def sizes(self) -> str:
        """The sizes of the reduced dimensions, as normalized_shape lists them."""
        return str([self.shape[i] for i in self.at])

    @property
    def trailing(self) -> str:
        """1d, 2d or 3d, as torch.nn counts what stands behind the channels."""
        return f"{max(1, len(self.first) - 2)}d"

    @property
    def features(self) -> int:
        """How many features or channels x has."""
        return self.shape[self.feature]

    @property
    def groups(self) -> int:
        """The groups of a GroupNorm."""
        sizes: dict[str, int] = dict(self.norm.sizes)
        return sizes["g"]

    @property
    def feature_name(self) -> str:
        """What the pattern calls the feature dimension."""
        return " ".join(self.norm.layout.dims[self.feature])

    def argument(self, *dims: int) -> str:
        """Dimensions as an argument: the last one is -1."""
        return "-1" if dims == (len(self.shape) - 1,) else tupled(dims)


def tupled(numbers: Sequence[int]) -> str:
    """One number as it is, several in parentheses."""
    return str(numbers[0]) if len(numbers) == 1 else str(tuple(numbers))


Sentences = Mapping[str, Callable[[Place], str]]
TRAILING = "normalized_shape lists the sizes of the reduced axes"
PYTORCH_LAYERS: Sentences = {
    "layer_norm": lambda p: f"LayerNorm({p.sizes}): {TRAILING}, {p.reduced}",
    "rms_norm": lambda p: f"RMSNorm({p.sizes}): {TRAILING}, {p.reduced}",
    "batch_norm": lambda p: (
        f"BatchNorm{p.trailing}({p.features}): no axis; of x as {p.first} it keeps dimension 1 and reduces the rest"
    ),
    "instance_norm": lambda p: (
        f"InstanceNorm{p.trailing}({p.features}): no axis; of x as {p.first} it keeps dimensions 0 and 1 and "
        "reduces the rest"
    ),
    "group_norm": lambda p: (
        f"GroupNorm({p.groups}, {p.features}): no axis; of x as {p.first} it keeps dimension 0, splits dimension 1 "
        "into groups and reduces the rest"
    ),
}
KERAS_LAYERS: Sentences = {
    "layer_norm": lambda p: f"LayerNormalization(axis={p.argument(*p.at)}): axis names the reduced axes, {p.reduced}",
    "rms_norm": lambda p: f"RMSNormalization(axis={p.argument(*p.at)}): axis names the reduced axes, {p.reduced}",
    "batch_norm": lambda p: (
        f"BatchNormalization(axis={p.argument(p.feature)}): axis names the kept axis, {p.feature_name}"
    ),
    "instance_norm": lambda p: (
        f"GroupNormalization(groups=-1, axis={p.argument(p.feature)}): axis names a kept axis, {p.feature_name}, "
        "whose every position is a group"
    ),
    "group_norm": lambda p: (
        f"GroupNormalization(groups={p.groups}, axis={p.argument(p.feature)}): axis names the axis that is split: its "
        "groups g are kept, the c in each are reduced"
    ),
}


def axis_words(norm: Norm, shape: tuple[int, ...], kind: str = "") -> dict[str, str]:
    """How frameworks are told the axes of a norm (fitted to an x of this shape).

    kind is layer_norm, rms_norm, batch_norm, instance_norm or group_norm where the pattern is that of one.

    >>> axis_words(Norm("[B S] d"), (2, 3, 4), "batch_norm")["Keras"]
    'BatchNormalization(axis=-1): axis names the kept axis, d'
    """
    place = _place(norm, shape, kind)
    layers = {"PyTorch": PYTORCH_LAYERS, "Keras": KERAS_LAYERS}
    words = {name: sentences[kind](place) for name, sentences in layers.items() if kind in sentences}
    at = tupled([norm.axes.index(axis) for axis in norm.over])
    split = "" if len(norm.axes) == len(shape) else f"reshape to ({', '.join(norm.axes)}), then "
    return words | {"NumPy": f"{split}mean(axis={at}): axis names the reduced axes, {place.reduced}"}


def _place(norm: Norm, shape: tuple[int, ...], kind: str) -> Place:
    kept = _dimensions(norm, norm.kept)
    feature = kept[-1] if kept else 0
    # A kept first dimension holds items, and so does that of a BatchNorm; else x is one item of positions.
    has_items = feature != 0 and (0 in kept or kind == "batch_norm")
    positions = (size for i, size in enumerate(shape) if i != feature and not (has_items and i == 0))
    first = (shape[0] if has_items else 1, shape[feature], *positions)
    return Place(norm, shape, _dimensions(norm, norm.over), feature, first)


def _dimensions(norm: Norm, axes: Axes) -> tuple[int, ...]:
    """The dimensions of x that hold any of the axes."""
    return tuple(i for i, dim in enumerate(norm.layout.dims) if set(dim) & set(axes))
