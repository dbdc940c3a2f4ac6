"""How a call would be done, and why: what the kernels decide, as they decide it."""

from dataclasses import dataclass
from typing import Any

from . import arrange
from .extension import NATIVE, WHY
from .extension import plan as native_plan

NUMPY_ROWS = "NumPy computes block by block"


@dataclass(frozen=True, repr=False)
class Explanation:
    """The way a call goes. Each choice has its reason in the field why_...

    path          "native", the C extension, or "numpy", the fallback
    instructions  "avx512", "avx2", "portable" or "numpy"
    threads       how many work on it
    stores        "streaming", past the cache, or "plain"
    copies        what has to be copied into another layout first; empty: nothing
    """

    path: str
    why_path: str
    instructions: str
    why_instructions: str
    threads: int
    why_threads: str
    stores: str
    why_stores: str
    copies: tuple[str, ...] = ()

    def __repr__(self) -> str:
        choices = ("path", "instructions", "threads", "stores")
        lines = [f"{name:13} {getattr(self, name)}: {getattr(self, 'why_' + name)}" for name in choices]
        if self.copies:
            lines.append(f"{'copies':13} {', '.join(self.copies)}: rows at one stride are taken as they are")
        return "\n".join(lines)


def explain(
    x: Any, *, residual: Any = None, out: Any = None, sum_out: Any = None, threads: int | None = None
) -> Explanation:
    """How a norm of x, with these other arguments, would be computed here.

    >>> import numpy as np
    >>> explain(np.ones((2, 8), np.float32)).threads
    1
    """
    call = arrange.checked(x, residual, None, None, 1e-5, out, sum_out, threads, True)
    if NATIVE is None:
        return Explanation("numpy", WHY, "numpy", NUMPY_ROWS, 1, NUMPY_ROWS, "plain", NUMPY_ROWS)
    rows = arrange.native_form(call)
    copies = [name for name in ("x", "residual", "out", "sum_out") if _is_copied(name, call, rows)]
    made = native_plan(*rows)
    if made is NotImplemented:  # an output that is shifted against an input
        made = native_plan(*arrange.detached(rows))
        copies = [name for name in ("x", "residual", "out", "sum_out") if getattr(call, name) is not None]
    instructions, why_instructions, count, why_threads, stores, why_stores = made
    return Explanation(
        "native", WHY, instructions, why_instructions, count, why_threads, stores, why_stores, tuple(copies)
    )


def _is_copied(name: str, call: arrange.Arguments, rows: tuple[Any, ...]) -> bool:
    import numpy as np

    values = getattr(call, name)
    if values is None:
        return False
    taken = rows[arrange.Arguments._fields.index(name)]
    return taken is None or not np.may_share_memory(taken, values)
