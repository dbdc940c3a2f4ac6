"""The guided tasks, for tests: what a person answers and does, what they read, and LayerNorm in plain loops."""

import random
import re

from normscope.lessons.axes_lab import actions, tasks
from normscope.lessons.axes_lab.state import State
from normscope.page.controls import Complaint
from tests.lessons.dom import Node, parse

DONE = actions.done(tasks.ACTIONS)
LESSON = State()
RIGHT = {
    "shift": "stays",
    "scale": "near",
    "constant": "0.1",
    "outlier": "squeeze",
    "gamma": "column",
    "swap": "x",
    "mean": "both",
}


def after(state: State, *does: str) -> State:
    for do in does:
        field, _, value = do.partition(":")
        state = DONE(state, field, value)
    return state


def answered(key: str, answer: str, state: State = LESSON) -> State:
    return after(state, f"task:{key}", f"guess.{key}:{answer}", f"try.{key}:1")


def drawn(state: State) -> Node:
    return parse(str(tasks.draw(state, Complaint()))).one(id="task")


def feedback(state: State) -> str:
    (said,) = drawn(state).all(class_="right") + drawn(state).all(class_="wrong")
    return " ".join(node.text for node in said.all("p"))


def numbers(text: str) -> list[float]:
    """Every number of six and more decimals in a text."""
    found = re.findall(r"(?<![\w.])[−-]?\d+\.\d{6,}(?:e-?\d+)?", text)
    return [float(number.replace("−", "-")) for number in found]


# ---- an oracle: LayerNorm in plain loops


def norm(row, eps=1e-5):
    mean = sum(row) / len(row)
    variance = sum((cell - mean) ** 2 for cell in row) / len(row)
    return mean, variance, [(cell - mean) / (variance + eps) ** 0.5 if variance + eps else float("nan") for cell in row]


def outputs(state, eps=1e-5):
    rows = (norm(row, eps)[2] for row in state.x)
    return [[g * z + b for g, z, b in zip(state.gamma, row, state.beta, strict=True)] for row in rows]


def tables(count):
    draw = random.Random(7)
    for _ in range(count):
        size = draw.randint(2, 5), draw.randint(3, 6)

        def numbers(length):
            return tuple(round(draw.uniform(-4, 4), 2) for _ in range(length))

        yield State(
            x=tuple(numbers(size[1]) for _ in range(size[0])),
            tokens=tuple(f"t{i}" for i in range(size[0])),
            gamma=numbers(size[1]),
            beta=numbers(size[1]),
            sel=(draw.randrange(size[0]), draw.randrange(size[1])),
        )


TABLES = [LESSON, *tables(12)]


def table(x, **more):
    d = len(x[0])
    plain = {"tokens": tuple("abc"[: len(x)]), "gamma": (1.0,) * d, "beta": (0.0,) * d, "sel": (0, 0)}
    return State(x=x, **plain | more)
