"""What a function, or a class that keeps its parameters out of sight, could not be given: said in a note."""

from ..norm import Norm


def left_out(norm: Norm, accepts: frozenset[str], is_object: bool) -> tuple[str, ...]:
    """A note on gamma and beta, where the norm has them and the function takes none.

    >>> from normscope import layer_norm
    >>> left_out(layer_norm(), frozenset({"x", "gamma"}), False)
    ('It takes no beta, so it was judged without.',)
    """
    has = {"gamma": norm.scale, "beta": norm.shift}
    names = [name for name, is_there in has.items() if is_there and name not in accepts]
    if not names:
        return ()
    if is_object:
        words = " and ".join(names)
        values = " and ".join("1" if name == "gamma" else "0" for name in names)
        return (f"{words} could not be set: it was judged with its own, if any, as if {values}.",)
    return (f"It takes no {' and no '.join(names)}, so it was judged without.",)
