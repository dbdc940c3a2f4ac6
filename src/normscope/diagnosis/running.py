"""The running statistics of a BatchNorm in training."""
from typing import Any
from .verdict import Finding

def judge_running(examination: Any) -> list[Finding]:
    return []
