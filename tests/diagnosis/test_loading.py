"""Where a function stands, and the file that is imported for it."""

import sys

import pytest

from normscope.diagnosis import loading
from normscope.diagnosis.checking import reference
from normscope.diagnosis.loading import Place
from normscope.errors import ImplementationError


@pytest.fixture
def path():
    """sys.path and sys.modules as they were."""
    before, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = before
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def test_a_target_is_a_file_or_a_module(tmp_path):
    file = tmp_path / "my layers.py"
    file.write_text("")
    assert loading.parse(f"{file}:Layer.forward") == (Place("", str(file)), "Layer.forward")
    assert loading.parse("a.b:c") == (Place("a.b", ""), "c")


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "no function is named; write FILE.py:FUNCTION or package.module:function."),
        ("layers.py", "'layers.py' names no function; write FILE.py:FUNCTION or package.module:function."),
        ("layers.py:", "'layers.py:' names no function; write FILE.py:FUNCTION or package.module:function."),
        ("nowhere.py:f", "there is no file nowhere.py; write FILE.py:FUNCTION or package.module:function."),
        (".:f", ". is no file; write FILE.py:FUNCTION or package.module:function."),
    ],
)
def test_what_is_no_target(text, message):
    with pytest.raises(ImplementationError) as error:
        loading.parse(text)
    assert str(error.value) == message


def test_a_file_may_import_its_neighbours_and_hides_no_library(tmp_path, path):
    (tmp_path / "neighbour.py").write_text("two = 2")
    (tmp_path / "json.py").write_text("from neighbour import two\ndef norm(x): return two")
    place = Place("", str(tmp_path / "json.py"))
    module = loading.imported(place)
    assert loading.found(module, place, "norm")(0) == 2
    assert module.__name__ == "_normscope_json"


def test_a_file_of_a_package_may_import_relatively(tmp_path, path):
    package = tmp_path / "pack" / "inner"
    package.mkdir(parents=True)
    (tmp_path / "pack" / "__init__.py").write_text("two = 2")
    (package / "__init__.py").write_text("")
    (package / "layers.py").write_text("from .. import two\ndef norm(x): return two")
    place = Place("", str(package / "layers.py"))
    assert loading.imported(place).__name__ == "pack.inner.layers"


def test_a_function_that_is_not_there_is_answered_with_those_that_are(tmp_path, path):
    (tmp_path / "mine.py").write_text("import os\nclass A: pass\ndef f(x): pass\ndef _g(x): pass\nvalue = 1")
    place = Place("", str(tmp_path / "mine.py"))
    module = loading.imported(place)
    with pytest.raises(ImplementationError, match=r"mine.py has no 'g'; it has A, f\."):
        loading.found(module, place, "g")
    with pytest.raises(ImplementationError, match=r"'value' of mine.py is a int, not a function\."):
        loading.found(module, place, "value")


def top(x):
    return x


class Layer:
    def forward(self, x):
        return x


def test_what_can_be_imported_by_name():
    assert reference(top) == (Place(__name__, __file__), "top")
    assert reference(Layer.forward)[1] == "Layer.forward"
    assert reference(lambda x: x) is None
    assert reference(Layer()) is None
    assert reference(max) == (Place("builtins", ""), "max")
