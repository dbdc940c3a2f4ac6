"""Where the focus is, in the words of code and of people."""

from .view import View


def _place(view: View, name: str) -> dict[str, int]:
    """Where the focus is in the whole tensor, along the axes of a value."""
    at = zip("BSd", (part.start + i for part, i in zip(view.window, view.focus, strict=True)), strict=True)
    return {axis: i for axis, i in at if axis in view.axes(name)}


def address(view: View, name: str) -> str:
    """`xhat[0, 1, 2]`, as code would have it."""
    return f"{name}[{', '.join(map(str, _place(view, name).values()))}]"


def spoken_place(view: View, name: str) -> str:
    """`batch 0, token 1 (cat), feature 2`."""
    names = {"B": "batch", "S": "token", "d": "feature"}
    words = [f"{names[axis]} {i}" for axis, i in _place(view, name).items()]
    if view.source.tokens and "S" in view.axes(name):
        words[1] += f" ({view.source.tokens[_place(view, name)['S']]})"
    return ", ".join(words)
