"""Where a lesson shows a finding: its exhibit in the museum, its norm in the axes lab, or the step of the layer.

A finding names in `link` the step that is wrong, "axes" where it is the cells that share a statistic, nothing where no
lesson shows it; here that becomes an address.
"""

from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import quote

from ..axes import parse
from ..gradients import GRADIENTS
from ..kinds import NAMES
from ..norm import Norm
from .verdict import Finding

# The museum's ids: lessons stand above the diagnosis, so they are not imported; a test compares them.
IDS = """
affine-before-norm affine-ignored affine-on-wrong-axis affine-per-group affine-scalar between-chunk-term-missing
block-bleeds-into-next-row chunks-merged-with-equal-weights columns-beyond-block-ignored correction-1
eps-added-to-xhat eps-after-rescale eps-as-floor eps-fixed eps-in-half eps-missing eps-outside-root eps-squared
eps-twice gamma-beta-swapped gamma-missing-in-gradient gamma-plus-one ignores-offset-and-strides keepdims-dropped
layer-norm-instead-of-rms mean-absolute-deviation mean-not-squared mean-not-subtracted mean-term-missing
momentum-inverted normalized-twice one-pass-variance padded-lanes-counted rms-instead-of-layer-norm root-missing
root-of-std rstd-in-bf16 running-variance-biased scale-inverted shift-inside-scale shift-missing squares-missing
statistics-per-chunk sum-not-mean variance-in-half variance-instead-of-mean-square variance-not-centered wrong-axes
xhat-term-missing
"""
EXHIBITS = frozenset(IDS.split())
LAYOUTS = {"tokens": ("B", "S", "d"), "ncl": ("N", "C", "L"), "nchw": ("N", "C", "H", "W")}  # of the axes lab
WITHIN = {"v": "r", "c": "xhat", "mu": "xhat", "scaled": "y"}  # the step that holds one which RMSNorm does not show


def addressed(findings: Iterable[Finding], norm: Norm) -> tuple[Finding, ...]:
    """The findings with addresses for steps."""
    return tuple(replace(each, link=address(each.id, each.link, norm)) for each in findings)


def address(id: str, step: str, norm: Norm) -> str:
    """The state of a lesson that shows a mistake of a norm.

    >>> from ..norm import batch_norm, layer_norm, rms_norm
    >>> address("eps-outside-root", "r", layer_norm())
    '/mistakes?v=1&show=eps-outside-root'
    >>> address("root-twice", "r", rms_norm()), address("root-cubed-in-gradient", "dx", layer_norm())
    ('/inside?v=1&norm=rms_norm&step=r', '/inside?v=1&back=1&step=dx')
    >>> address("unrecognised", "axes", batch_norm())
    '/axes?v=1&norm=batch_norm&layout=nchw'
    """
    if id in EXHIBITS:
        return f"/mistakes?v=1&show={id}"
    if not step:
        return ""
    kind = next((name for name, title in NAMES.items() if title == norm.name), "")
    if kind == "batch_norm" and norm.running:
        kind = "batch_norm_eval"
    axes = _axes(kind, norm)
    is_layer = kind in ("layer_norm", "rms_norm") or not axes
    return _step(step, norm.center) if is_layer and step != "axes" else axes or "/axes?v=1&norm=layer_norm"


def _axes(kind: str, norm: Norm) -> str:
    """The norm in the axes lab; nothing where no layout there has its axes."""
    if kind:
        return f"/axes?v=1&norm={kind}" + ("" if kind in ("layer_norm", "rms_norm") else "&layout=nchw")
    axes = parse(norm.pattern).axes
    layout = next((name for name, has in LAYOUTS.items() if has == axes), "")
    return f"/axes?v=1&layout={layout}&norm=pattern&pattern={quote(norm.pattern)}" if layout else ""


def _step(step: str, is_centered: bool) -> str:
    """The step of the layer, forward or back."""
    shown = step if is_centered and step != "v" else WITHIN.get(step, step)
    parts = ["v=1", *([] if is_centered else ["norm=rms_norm"]), *(["back=1"] if step in GRADIENTS else [])]
    return f"/inside?{'&'.join(parts)}&step={shown}"
