"""How recorders write what PyTorch gave."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np


def save(file: Path, cases: int, recorded: Iterable[tuple[str, np.ndarray]]) -> None:
    """Write every array by its key; the same machine writes the same bytes again."""
    import torch

    torch.set_num_threads(1)
    arrays = dict(recorded) | {"torch_version": np.array(torch.__version__.partition("+")[0])}
    np.savez_compressed(file, **arrays)
    print(f"{file.name}: {cases} cases, {file.stat().st_size:,} bytes, PyTorch {torch.__version__}")
