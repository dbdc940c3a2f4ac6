"""The guided tasks: what is asked of a place in the table, what is done then, and what reads the answer off it."""

from collections.abc import Mapping

from ...page.numbers import fixed, general
from ...page.text import printable
from . import row_outcomes, table_outcomes
from .actions import row_of
from .predictions import Change, Place, Task
from .row_outcomes import BY, FAR, TIMES
from .state import State
from .table_outcomes import CURES, MORE


def _name(state: State, place: Place) -> str:
    return printable(state.tokens[place.token])


def _now(state: State, place: Place, value: str) -> str:
    return fixed(Change(state, state, place).cells(value)[0])


def _z(state: State, place: Place, deed: str) -> str:
    z = _now(state, place, "xhat")
    return f"{deed}. What becomes of its z at feature {place.feature + 1}, which is {z} now?"


def _add(state: State, place: Place) -> str:
    return f"Add {general(BY)} to every feature of {_name(state, place)}"


def _multiply(state: State, place: Place) -> str:
    return f"Multiply every feature of {_name(state, place)} by {general(TIMES)}"


def _clear(state: State, place: Place) -> str:
    return f"Set every feature of {_name(state, place)} to 0"


def _throw(state: State, place: Place) -> str:
    return f"Set feature {place.feature + 1} of {_name(state, place)} to {general(FAR)}"


def _raise(state: State, place: Place) -> str:
    return f"Add {general(MORE)} to gamma of feature {place.feature + 1}"


def _means(state: State, place: Place) -> str:
    mean = fixed(table_outcomes.row_means(state)[place.token])
    return (
        f"The mean of z is 0 in every row, but that of y is {mean} in the row of {_name(state, place)}. What is the "
        "least that makes it 0 in every row?"
    )


TASKS: Mapping[str, Task] = {
    "shift": Task(
        "Shift a row",
        lambda state, place: _z(state, place, _add(state, place)),
        _add,
        row_outcomes.shift,
        lambda state, place: {cell: old + BY for cell, old in row_of(state, str(place.token)).items()},
        {"rises": "It rises", "stays": "It stays", "shrinks": "It moves towards 0"},
        row_outcomes.no_number,
    ),
    "scale": Task(
        "Scale a row",
        lambda state, place: _z(state, place, _multiply(state, place)),
        _multiply,
        row_outcomes.scale,
        lambda state, place: {cell: old * TIMES for cell, old in row_of(state, str(place.token)).items()},
        {
            "times": f"It becomes {general(TIMES)} times as large",
            "same": "It stays, to the last digit",
            "near": "It nearly stays: it moves by less than 0.01",
            "more": "It moves by more, but less than that",
        },
        row_outcomes.no_multiple,
    ),
    "constant": Task(
        "A constant row",
        lambda state, place: f"{_clear(state, place)}. What is its y at feature {place.feature + 1} then?",
        _clear,
        row_outcomes.constant,
        lambda state, place: dict.fromkeys(row_of(state, str(place.token)), 0.0),
        refuse=row_outcomes.no_eps,
    ),
    "outlier": Task(
        "An outlier",
        lambda state, place: f"{_throw(state, place)}. What becomes of the other z of its row?",
        _throw,
        row_outcomes.outlier,
        lambda state, place: {f"x.{place.token}.{place.feature}": FAR},
        {"spread": "They spread out", "squeeze": "They are squeezed together", "stay": "They stay"},
        row_outcomes.no_range,
    ),
    "gamma": Task(
        "One gamma",
        lambda state, place: f"{_raise(state, place)}. Which outputs y move?",
        _raise,
        table_outcomes.one_gamma,
        table_outcomes.more_gamma,
        {
            "cell": "That feature of the selected token",
            "row": "Every feature of the selected token",
            "column": "That feature of every token",
            "all": "All of them",
        },
        table_outcomes.no_step,
    ),
    "swap": Task(
        "Swap the axes",
        lambda state, place: (
            "Take mean and variance over the tokens of each feature, not over the features of each token. Which of "
            "the numbers in the table’s cells stay?"
        ),
        lambda state, place: "Swap the axes",
        table_outcomes.swap,
        options={
            "x": "x alone",
            "mean": "x, and the mean that is subtracted",
            "z": "x and z",
            "all": "All: x, mean, variance and z",
        },
    ),
    "mean": Task(
        "The mean of the output",
        _means,
        lambda state, place: "Make every mean of y 0",
        table_outcomes.output_mean,
        lambda state, place: {
            f"{name}.{k}": one for name, one in (("gamma", 1.0), ("beta", 0.0)) for k in range(state.size[1])
        },
        {name: text[0].upper() + text[1:] for name, text in CURES.items()},
        table_outcomes.no_mean,
    ),
}
