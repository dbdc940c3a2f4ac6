"""Policies: which step of a norm is kept in which format, as real code does it.

A step is computed in `compute` (float32: the value passes through it, as in PyTorch's and everyone's kernels,
and so is rounded twice), then rounded to the format that it is kept in. A product that is kept in float64
before an add is a fused multiply-add: it is not rounded on its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ..axes import Axes
from ..errors import NormError
from ..gradients import GRADIENTS
from ..norm import Norm
from ..program import PARAMETERS, Program, Step
from ..steps import FACTORS, NUMBERS, forward, output, reading
from .formats import BFLOAT16, FORMATS, NARROW, Format, format_of

FUSED = "float64"  # of a product: not rounded before the add that reads it
ONCE = "once"
ONE_PLUS = "one plus w"


def scale_and_shift(norm: Norm) -> Program:
    """xhat as x * r - mu * r: PyTorch's LayerNorm kernel for narrow formats on a CPU, `x * scale + bias`.

    https://github.com/pytorch/pytorch/blob/v2.13.0/aten/src/ATen/native/cpu/layer_norm_kernel.cpp; that 2.13
    does so for float16 and bfloat16 and not for float32 is seen from its output bits (tests/golden).
    """
    program = forward(norm)
    if not norm.center:
        return program
    mean = "running_mean" if norm.running else "mu"
    axes = program.values
    add = (
        Step("mr", "mul", (mean, "r"), axes["r"], into="mr"),
        Step("xr", "mul", ("x", "r"), norm.axes, into="xr"),
        Step("xhat", "sub", ("xr", "mr"), norm.axes, into="xhat"),
    )
    return program.instead("xhat", *add)


def one_plus(norm: Norm) -> Program:
    """gamma kept as w = gamma - 1 and added up again: Gemma's RMSNorm, `output * (1.0 + weight.float())`.

    A norm with an offset says so itself: its gamma is that w.
    https://github.com/huggingface/transformers/blob/main/src/transformers/models/gemma/modeling_gemma.py
    """
    program = forward(norm)
    if not norm.scale or norm.offset:
        return program
    axes = norm.param_axes
    first = (
        Step("w", "sub", ("gamma", Fraction(1)), axes, into="w"),
        Step("gain", "add", ("w", Fraction(1)), axes, into="gain"),
    )
    rest = (reading(step, "gamma", "gain") for step in program)
    return replace(program, steps=(*first, *rest))


FORMS: Mapping[str, Callable[[Norm], Program]] = {
    "textbook": forward,
    "scale and shift": scale_and_shift,
    ONE_PLUS: one_plus,
}


@dataclass(frozen=True)
class Policy:
    """Which value of a norm is kept in which format, and how it gets there.

    storage     of x, gamma, beta and y, and of their gradients
    cells       of the steps between that are not one number a row
    statistics  of what is one number a row
    keep        single values that differ, by name: `(("xhat", "bfloat16"),)`
    compute     the format in which each op is computed first: its result passes through it
    sums        "once": added in float64, then rounded to `compute`; else the format of a running sum that is
                rounded after each addition, in the order of the cells
    form        the order of the operations, a key of FORMS
    saturate    in a format without infinities, what lies beyond the largest number becomes it (`Format.round`)

    >>> policy = find("llama-bf16")
    >>> from ..norm import rms_norm
    >>> kept = policy.kept(rms_norm().fit(2))
    >>> kept["r"].name, kept["xhat"].name, kept["y"].name
    ('float32', 'bfloat16', 'bfloat16')

    Raises DtypeError for a name that is no format, NormError for a form that is none.
    """

    name: str
    storage: str
    cells: str = "float32"
    statistics: str = "float32"
    keep: tuple[tuple[str, str], ...] = ()
    compute: str = "float32"
    sums: str = ONCE
    form: str = "textbook"
    saturate: bool = False

    def __post_init__(self) -> None:
        named = [(what, getattr(self, what)) for what in ("storage", "cells", "statistics")]
        for what, dtype in [*named, *((f"keep of {name}", dtype) for name, dtype in self.keep)]:
            format_of(dtype, what)
        if self.compute not in ("float32", "float64"):
            raise NormError(f"compute is {self.compute!r}; it must be float32 or float64.")
        if self.sums != ONCE:
            format_of(self.sums, "sums, if not 'once',")
        if self.form not in FORMS:
            raise NormError(f"form is {self.form!r}; it must be one of {', '.join(FORMS)}.")

    def program(self, norm: Norm) -> Program:
        """The norm's program in this policy's order of operations."""
        return _program(self.form, norm)

    def kept(self, norm: Norm) -> dict[str, Format]:
        """The format of every input and every step of a norm whose `...` is written out."""
        return self.formats(self.program(norm), norm.over)

    def formats(self, program: Program, over: Axes) -> dict[str, Format]:
        """The format of every value of a program that reduces `over`."""
        stored = {"x", *PARAMETERS, output(program), "dy", *GRADIENTS}
        single = dict(self._single(program))

        def dtype(name: str, axes: Axes) -> str:
            if name in single or name in stored:
                return single.get(name, self.storage)
            if name in NUMBERS:
                return self.compute
            return self.cells if set(over) & set(axes) or name in FACTORS else self.statistics

        return {name: FORMATS[dtype(name, axes)] for name, axes in program.values.items()}

    def _single(self, program: Program) -> tuple[tuple[str, str], ...]:
        """The values that differ; where a norm's own offset is the 1 of 1 + w, its gamma is stored as any other."""
        if self.form != ONE_PLUS or "w" in program.values:
            return self.keep
        return tuple((name, dtype) for name, dtype in self.keep if name not in ("gamma", "w"))

    def note(self, program: Program) -> str:
        """What a reader of the values of a program should know."""
        parts = f"x, gamma, beta and y in {self.storage}, statistics in {self.statistics}, cells in {self.cells}"
        single = "".join(f", {name} in {dtype}" for name, dtype in self._single(program))
        return f"policy {self.name}: {parts}{single}; every step is rounded."


@lru_cache(maxsize=256)
def _program(form: str, norm: Norm) -> Program:
    """Kept: a page asks for the same programs at every step of a slider."""
    return FORMS[form](norm)


def _named() -> dict[str, Policy]:
    made = [
        Policy("float64", "float64", "float64", "float64", compute="float64"),
        Policy("float32", "float32"),
        Policy("pytorch-fp32", "float32", keep=(("scaled", FUSED),)),
        Policy("onnxruntime-fp16", "float16", keep=(("scaled", FUSED),)),
    ]
    for each in NARROW.values():
        made += _of(each.name, each.short)
    return {policy.name: policy for policy in made}


def _of(storage: str, short: str) -> list[Policy]:
    """The named orders over one narrow format."""
    fused = (("xr", FUSED), ("scaled", FUSED))
    every: dict[str, Any] = {"cells": storage, "statistics": storage}
    made: list[tuple[str, dict[str, Any]]] = [
        ("pytorch", {"form": "scale and shift", "keep": fused}),
        ("statistics", {"cells": storage}),
        ("steps", every),
        ("llama", {"keep": (("xhat", storage), ("scaled", storage))}),
        ("gemma", {"form": ONE_PLUS, "keep": (("gamma", "float64"), ("w", storage))}),
        ("naive", every | {"sums": storage}),
    ]
    saturate = storage == "float8_e4m3fn"  # as PyTorch casts
    return [Policy(f"{kind}-{short}", storage, saturate=saturate, **fields) for kind, fields in made]


POLICIES = _named()
KINDS = tuple(dict.fromkeys(name.rpartition("-")[0] for name in POLICIES if name.endswith(BFLOAT16.short)))
SINGLE = tuple(name for name in POLICIES if name.rpartition("-")[0] not in KINDS or name == "pytorch-fp32")


def strict(policy: Policy) -> Policy:
    """The policy without saturation: what lies beyond the largest number is no finite number.

    Up to the first such value it rounds as the policy does, and so tells which that is.
    """
    return replace(policy, saturate=False)


def find(policy: Policy | str) -> Policy:
    """The policy itself, or the named one.

    Raises NormError for a name that is none.
    """
    if isinstance(policy, Policy):
        return policy
    if not isinstance(policy, str) or policy not in POLICIES:
        shorts = [f"-{each.short}" for each in NARROW.values()]
        raise NormError(
            f"policy is {policy!r}; it must be {', '.join(SINGLE)}, or one of {', '.join(KINDS)} "
            f"with {', '.join(shorts)} behind it, as in pytorch-bf16."
        )
    return POLICIES[policy]
