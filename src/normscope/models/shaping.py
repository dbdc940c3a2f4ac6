"""The operators that change no number: casts, reshapes, and what graphs compute of shapes."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from ..axes import Axes
from .graph import dtype_name
from .inputs import attributes, known, places, rounded, tensor, whole_numbers
from .meaning import FEW, Known, Meant, Reading, Rule, Tensor
from .regions import Unreadable


def _same(reading: Reading, node: Any) -> Sequence[Meant]:
    return [reading.meant(node.input[0])]


def _cast(reading: Reading, node: Any) -> Sequence[Meant]:
    value = reading.meant(node.input[0])
    if not isinstance(value, Known):
        return [value]
    dtype = dtype_name(attributes(node)["to"]) if "to" in attributes(node) else reading.graph.dtype(node.input[1])
    whole = dtype.startswith(("int", "uint"))
    return [Known(rounded(value.cells, whole), whole)]


def _reshape(reading: Reading, node: Any) -> Sequence[Meant]:
    value, shape = reading.meant(node.input[0]), known(reading, node, 1)
    if shape is None:
        raise Unreadable("a reshape without a shape")
    if isinstance(value, Known):
        return [Known(value.cells.reshape(whole_numbers(shape)), value.whole)]
    target: list[int | None] = []
    for at, size in enumerate(shape.cells.ravel()):
        if size == 0 and not attributes(node).get("allowzero"):
            target.append(reading.layout.size(value.dims[at]))
        else:
            target.append(int(size) if size > 0 else None)
    return [Tensor(value.term, reading.layout.reshaped(value.dims, target))]


def _flatten(reading: Reading, node: Any) -> Sequence[Meant]:
    value = tensor(reading, node.input[0])
    at: int = attributes(node).get("axis", 1)
    rank = len(value.dims)
    at = at if at == rank else places([at], rank)[0]
    halves = value.dims[:at], value.dims[at:]
    return [Tensor(value.term, tuple(tuple(axis for dim in half for axis in dim) for half in halves))]


def _axes_given(reading: Reading, node: Any) -> list[int] | None:
    told = known(reading, node, 1)
    return attributes(node).get("axes") if told is None else whole_numbers(told)


def _squeeze(reading: Reading, node: Any) -> Sequence[Meant]:
    value, axes = reading.meant(node.input[0]), _axes_given(reading, node)
    if isinstance(value, Known):
        import numpy as np

        return [Known(np.squeeze(value.cells, None if axes is None else tuple(axes)), value.whole)]
    sizes = [reading.layout.size(dim) for dim in value.dims]
    at = [place for place, size in enumerate(sizes) if size == 1] if axes is None else places(axes, len(sizes))
    if any(sizes[place] != 1 for place in at):
        raise Unreadable("a squeeze of more than one cell")
    return [Tensor(value.term, tuple(dim for place, dim in enumerate(value.dims) if place not in at))]


def _unsqueeze(reading: Reading, node: Any) -> Sequence[Meant]:
    value, axes = reading.meant(node.input[0]), _axes_given(reading, node)
    if axes is None:
        raise Unreadable("an unsqueeze without axes")
    if isinstance(value, Known):
        import numpy as np

        return [Known(np.expand_dims(value.cells, tuple(axes)), value.whole)]
    dims: list[Axes] = list(value.dims)
    for place in sorted(places(axes, len(dims) + len(axes))):
        dims.insert(place, ())
    return [Tensor(value.term, tuple(dims))]


def _transpose(reading: Reading, node: Any) -> Sequence[Meant]:
    value = tensor(reading, node.input[0])
    order = attributes(node).get("perm") or range(len(value.dims))[::-1]
    return [Tensor(value.term, tuple(value.dims[at] for at in order))]


def _expand(reading: Reading, node: Any) -> Sequence[Meant]:
    value, shape = tensor(reading, node.input[0]), known(reading, node, 1)
    if shape is None:
        raise Unreadable("an expand without a shape")
    sizes = list(shape.cells.ravel())
    dims = ((),) * (len(sizes) - len(value.dims)) + value.dims
    sizes = [1.0] * (len(dims) - len(sizes)) + sizes
    is_stretched = (reading.layout.size(dim) == 1 and size > 1 for dim, size in zip(dims, sizes, strict=True))
    made = (
        reading.layout.free(int(size)) if stretched else dim
        for dim, size, stretched in zip(dims, sizes, is_stretched, strict=True)
    )
    return [Tensor(value.term, tuple(made))]


def _slice(reading: Reading, node: Any) -> Sequence[Meant]:
    value = reading.meant(node.input[0])
    given = attributes(node)
    parts = [known(reading, node, at) for at in range(1, 5)]
    starts, ends, axes, steps = (
        given.get(name) if part is None else whole_numbers(part)
        for name, part in zip(("starts", "ends", "axes", "steps"), parts, strict=True)
    )
    if starts is None or ends is None:
        raise Unreadable("a slice without bounds")
    steps = steps or [1] * len(starts)
    if isinstance(value, Known):
        if value.cells.ndim != 1 or len(starts) != 1:
            raise Unreadable("a slice of no list")
        return [Known(value.cells[slice(starts[0], ends[0], steps[0])], value.whole)]
    sizes = [reading.layout.size(value.dims[at]) for at in axes or range(len(starts))]
    whole = (slice(*part).indices(size) == (0, size, 1) for *part, size in zip(starts, ends, steps, sizes, strict=True))
    if not all(whole):
        raise Unreadable("a part of a tensor")
    return [value]


def _gather(reading: Reading, node: Any) -> Sequence[Meant]:
    value, at = known(reading, node, 0), known(reading, node, 1)
    if value is None or at is None or value.cells.ndim != 1:
        raise Unreadable("a gather from no list")
    return [Known(value.cells[at.cells.astype(int)], value.whole)]


def _concat(reading: Reading, node: Any) -> Sequence[Meant]:
    import numpy as np

    parts = [known(reading, node, at) for at in range(len(node.input))]
    cells = [part.cells for part in parts if part is not None]
    if any(each.ndim != 1 for each in cells):
        raise Unreadable("a concat of no lists")
    return [Known(np.concatenate(cells), all(part.whole for part in parts if part is not None))]


def _dims_of(reading: Reading, name: str) -> list[float]:
    """The sizes of a tensor's dimensions; nan for one that is open and no region's."""
    try:
        value = reading.meant(name)
    except Unreadable:
        shape = reading.graph.shape(name)
        if shape is None:
            raise
        return [float(dim) if isinstance(dim, int) else float("nan") for dim in shape]
    if isinstance(value, Known):
        return [float(size) for size in value.cells.shape]
    return [float(reading.layout.size(dim)) for dim in value.dims]


def _shape(reading: Reading, node: Any) -> Sequence[Meant]:
    import numpy as np

    given = attributes(node)
    sizes = _dims_of(reading, node.input[0])
    return [Known(np.array(sizes[given.get("start", 0) : given.get("end", len(sizes))]), True)]


def _count(reading: Reading, node: Any) -> Sequence[Meant]:
    import numpy as np

    return [Known(np.array(np.prod(_dims_of(reading, node.input[0]))), True)]


def _range(reading: Reading, node: Any) -> Sequence[Meant]:
    import numpy as np

    parts = [known(reading, node, at) for at in range(3)]
    start, end, step = (float(part.cells.flat[0]) for part in parts if part is not None)
    if not (end - start) / step <= FEW:
        raise Unreadable("a long range")
    return [Known(np.arange(start, end, step), True)]


def _filled(reading: Reading, node: Any) -> Sequence[Meant]:
    import numpy as np
    from onnx import numpy_helper

    shape = known(reading, node, 0)
    value = attributes(node).get("value")
    cell = 0.0 if value is None else float(numpy_helper.to_array(value).flat[0])
    sizes = whole_numbers(shape) if shape else []
    if prod(sizes) > FEW:
        raise Unreadable("many cells")
    return [Known(np.full(sizes, cell), value is not None and value.data_type == 7)]


SAME: Mapping[str, Rule] = {  # cells in the same places
    **dict.fromkeys(("Cast", "CastLike"), _cast),
    **dict.fromkeys(("Identity", "Dropout"), _same),
}
IN_ORDER: Mapping[str, Rule] = {  # cells in the same order
    **SAME,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
}
SHAPING: Mapping[str, Rule] = {
    **IN_ORDER,
    "Transpose": _transpose,
    "Expand": _expand,
    "Slice": _slice,
    "Gather": _gather,
    "Concat": _concat,
    "Shape": _shape,
    "Size": _count,
    "Range": _range,
    "ConstantOfShape": _filled,
}
