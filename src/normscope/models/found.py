"""What an inspection finds: norms, each with where it stands, what it is and what speaks for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..norm import Norm


@dataclass(frozen=True)
class Found:
    """A norm that was found.

    where       the node of a graph, or the path of a module
    norm        what it is
    sizes       sizes of its axes that are known
    form        "fused", "two-pass" or "one-pass"
    offset      added to gamma before it multiplies: 1 in Gemma
    dtype       of x
    parameters  a summary of gamma and beta, by name
    evidence    what speaks for it, in words
    unknown     fields of the norm that could not be told, such as "eps"
    warnings    what is wrong about it, in words
    tensors     the names of x, y, gamma and beta in the model
    """

    where: str
    norm: Norm
    sizes: Mapping[str, int] = field(default_factory=dict)
    form: str = ""
    offset: int = 0
    dtype: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    tensors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """Every norm of a model, and what must be said about the model."""

    norms: tuple[Found, ...]
    warnings: tuple[str, ...] = ()
