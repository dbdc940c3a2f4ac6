"""What the values of "Inside LayerNorm" are called, and which colour and shape each has everywhere."""

from ...norm import Norm
from ...program import Program
from ...steps import output

TITLES = {
    "x": "input",
    "mu": "mean",
    "c": "centered",
    "q": "squares",
    "var": "variance",
    "r": "reciprocal root",
    "mr": "mean × root",
    "xr": "input × root",
    "xhat": "normalized",
    "w": "gamma less 1",
    "gain": "factor",
    "scaled": "scale",
    "y": "output",
    "gamma": "scale parameter",
    "beta": "shift parameter",
    "dy": "gradient of the output",
    "dbeta": "gradient of the shift",
    "dgamma": "gradient of the scale",
    "dxhat": "gradient of the normalized",
    "mean_dxhat": "mean of dx̂",
    "mean_dxhat_xhat": "mean of dx̂ · x̂",
    "centered": "without its mean",
    "along": "the part along x̂",
    "across": "what is left",
    "dx": "gradient of the input",
}
WORDS = {  # on the scrubber
    "mr": "",
    "xr": "",
    "w": "",
    "gain": "",
    "mean_dxhat": "mean",
    "mean_dxhat_xhat": "",
    "centered": "centered",
    "along": "along x̂",
    "across": "rest",
}
ROLES = {
    "x": "input",
    "mu": "stat",
    "var": "stat",
    "r": "stat",
    "mr": "stat",
    "gamma": "param",
    "beta": "param",
    "w": "param",
    "gain": "param",
    "xhat": "unit",
    # A gradient has the colour of what it is the gradient of, under a double line.
    "dy": "output grad",
    "dbeta": "param grad",
    "dgamma": "param grad",
    "dxhat": "unit grad",
    "mean_dxhat": "stat grad",
    "mean_dxhat_xhat": "stat grad",
    "centered": "work grad",
    "along": "work grad",
    "across": "work grad",
    "dx": "input grad",
}


def title(name: str, norm: Norm) -> str:
    """What a step is called: RMSNorm's var is its mean square, the last step of the forward pass the output."""
    if name == "var" and not norm.center:
        return "mean square"
    if name in ("dy_xhat", "dxhat_xhat"):
        return "product"
    if name == "y":
        return "shift: the output" if norm.shift else "scale: the output"
    return TITLES[name]


def word(name: str, norm: Norm) -> str:
    """The title as short as the scrubber needs it."""
    return WORDS.get(name, title(name, norm).partition(":")[0].removeprefix("gradient of the "))


def role(name: str, program: Program) -> str:
    """Which colour and shape a value has everywhere."""
    return "output" if name == output(program) else ROLES.get(name, "work")
