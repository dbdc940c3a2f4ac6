"""JSON that every reader accepts, and that gives back the same floats."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from normscope.page.json import dumps
from normscope.page.window import cut_out, indices, window


def strict(text: str) -> object:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (math.nan, '"NaN"'),
        (math.inf, '"Infinity"'),
        (-math.inf, '"-Infinity"'),
        (np.float32("nan"), '"NaN"'),
        (np.float64("-inf"), '"-Infinity"'),
        (np.array([[1, np.nan], [-0.0, 2]]), '[[1.0, "NaN"], [-0.0, 2.0]]'),
        ({"a": (1, {"b": [math.inf]})}, '{"a": [1, {"b": ["Infinity"]}]}'),
        ([np.int64(3), True, None, "μ"], '[3, true, null, "\\u03bc"]'),
        (np.zeros((2, 0)), "[[], []]"),
    ],
)
def test_what_json_lacks_is_spelled(value, text):
    assert dumps(value) == text
    strict(text)


@given(st.recursive(st.floats() | st.integers() | st.text() | st.none(), st.lists))
def test_any_values_are_strict_json(value):
    def back(read: object) -> object:
        if isinstance(read, list):
            return [back(item) for item in read]
        return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(read, read)

    assert repr(back(strict(dumps(value)))) == repr(back(value))


@given(st.floats(width=64, allow_nan=False, allow_infinity=False))
def test_a_float64_reads_back_bit_for_bit(value):
    assert np.float64(strict(dumps([value]))[0]).tobytes() == np.float64(value).tobytes()


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float32_reads_back_bit_for_bit(value):
    assert np.float32(strict(dumps(np.float32([value])))[0]).tobytes() == np.float32(value).tobytes()


def test_what_has_no_form_is_refused():
    with pytest.raises(TypeError, match=r"^a object has no form in JSON; give numbers"):
        dumps([object()])


def test_page_needs_no_numpy():
    code = "import sys; import normscope.page.json, normscope.page.text; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("shape", [(10_001,), (101, 100), (8, 1024, 768), (9, 9, 9, 9, 9), (7,) * 6, (3,) * 10])
def test_a_window_has_at_most_10000_cells_and_both_ends_of_every_axis(shape):
    shown = window(shape)
    picked = [indices(spans) for spans in shown]
    assert math.prod(map(len, picked)) <= 10_000
    for size, each in zip(shape, picked, strict=True):
        assert each[0] == 0 and each[-1] == size - 1 and sorted(set(each)) == each


def test_a_tensor_of_10000_cells_is_whole():
    assert window((100, 100)) is None


def test_cut_out_is_what_numpy_indexes():
    array = np.random.default_rng(0).normal(size=(8, 9, 7)).astype("f4")
    shown = (((0, 3), (5, 8)), ((0, 3), (6, 9)), ((0, 7),))
    wanted = array[np.ix_([0, 1, 2, 5, 6, 7], [0, 1, 2, 6, 7, 8], range(7))]
    assert cut_out(array, shown) == wanted.tolist() == cut_out(array.tolist(), shown)
