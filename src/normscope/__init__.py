"""Normscope: a microscope for normalization layers, above all LayerNorm.

>>> import normscope as ns
>>> ns.trace([[1.0, 3.0]], ns.layer_norm(eps=0))["xhat"]
[[-1.0, 1.0]]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import presets
    from .block import ExactTrace, exact
    from .comparison import Compared, Comparison, compare
    from .diagnosis.checking import check
    from .diagnosis.verdict import Finding, Verdict
    from .differences import Difference, difference
    from .gradients import backward, training
    from .losses import Loss, precision
    from .models.differing import Diff, diff
    from .models.found import Found, Report
    from .models.inspecting import inspect
    from .norm import Norm, batch_norm, group_norm, instance_norm, layer_norm, rms_norm
    from .program import Program, Step
    from .rungs import Rung, ladder
    from .steps import forward
    from .tracing import Trace, running_statistics, trace
    from .variance import variances
    from .views.derive import derive
    from .views.ledger import Ledger, ledger
    from .views.model_ledger import ModelLedger, model_ledger
    from .views.policies import Policy
    from .views.training import TrainingLedger, training_ledger

__version__ = "0.1.0"

HOMES = {
    "block": ("ExactTrace", "exact"),
    "comparison": ("Compared", "Comparison", "compare"),
    "diagnosis.checking": ("check",),
    "diagnosis.verdict": ("Finding", "Verdict"),
    "differences": ("Difference", "difference"),
    "gradients": ("backward", "training"),
    "losses": ("Loss", "precision"),
    "models.differing": ("Diff", "diff"),
    "models.found": ("Found", "Report"),
    "models.inspecting": ("inspect",),
    "norm": ("Norm", "batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"),
    "program": ("Program", "Step"),
    "rungs": ("Rung", "ladder"),
    "steps": ("forward",),
    "tracing": ("Trace", "running_statistics", "trace"),
    "variance": ("variances",),
    "views.derive": ("derive",),
    "views.ledger": ("Ledger", "ledger"),
    "views.model_ledger": ("ModelLedger", "model_ledger"),
    "views.policies": ("Policy",),
    "views.training": ("TrainingLedger", "training_ledger"),
}
__all__ = [
    "Compared", "Comparison", "Diff", "Difference", "ExactTrace", "Finding", "Found", "Ledger", "Loss",
    "ModelLedger", "Norm", "Policy", "Program", "Report", "Rung", "Step", "Trace", "TrainingLedger", "Verdict",
    "backward", "batch_norm", "check", "compare", "derive", "diff", "difference", "exact", "forward", "group_norm",
    "inspect", "instance_norm", "ladder", "layer_norm", "ledger", "model_ledger", "precision", "presets",
    "rms_norm", "running_statistics", "trace", "training", "training_ledger", "variances",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: the import of the package itself costs nothing."""
    if name == "presets":
        return import_module(".presets", __name__)
    for module, names in HOMES.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module 'normscope' has no attribute '{name}'")
