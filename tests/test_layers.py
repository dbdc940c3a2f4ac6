"""The house's imports run downward only, and libraries are imported where they are used."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "src" / "normscope"

# Lowest first. Units of one line may not import each other, unless both are single files.
# __init__ is the package's public face.
LAYERS = [
    ["errors"],
    ["axes", "csv_table"],
    ["norm", "presets"],
    ["program"],
    ["steps", "gradients", "run"],
    ["page"],
    ["views"],
    ["tracing", "variance"],
    ["block", "differences"],
    ["exercises", "mistakes", "rungs", "losses"],
    ["kinds", "conventions"],
    ["averages"],
    ["comparison", "diagnosis", "kernels", "models"],
    ["__init__"],
    ["lessons"],
    ["interfaces", "__main__"],
]
LEVEL = {unit: level for level, units in enumerate(LAYERS) for unit in units}
PACKAGES = {"page", "views", "diagnosis", "kernels", "models", "lessons", "interfaces"}
PAGE_READS = {"page", "errors"}  # the page's parts know no norms
LIBRARIES_ALLOWED = {"interfaces", "__main__"}

Sources = dict[str, str]  # a module's dotted name, such as normscope.views.__init__: its text


def sources(root: Path) -> Sources:
    """Every module under a package's folder."""
    paths = sorted(root.rglob("*.py"))
    return {".".join([root.name, *path.relative_to(root).with_suffix("").parts]): path.read_text() for path in paths}


def unit(module: str) -> str:
    """The file or package that a module belongs to: normscope.views.cells -> views."""
    return f"{module}.__init__".split(".")[1]


def imported(node: ast.stmt, module: str, modules: Sources) -> list[str]:
    """The modules that one import statement names, relative ones resolved."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    above = module.split(".")[: -node.level] if node.level else []
    base = ".".join([*above, node.module] if node.module else above)
    names = [f"{base}.{alias.name}" for alias in node.names]
    return [name if name in modules or f"{name}.__init__" in modules else base for name in names]


def run_at_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when the module is imported: not in functions, not for the type checker."""
    for node in body:
        yield node
        yield from run_at_import(inside(node))


def inside(node: ast.stmt) -> list[ast.stmt]:
    """The statements of a class, an if, a try or a with that run with it."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return []
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return node.orelse
    handlers = [statement for handler in getattr(node, "handlers", []) for statement in handler.body]
    blocks = (getattr(node, block, []) for block in ("body", "orelse", "finalbody"))
    return [*(statement for block in blocks for statement in block), *handlers]


def why_not(reader: str, read: str) -> str:
    """Why one unit may not import another; empty where it may."""
    if reader == read:
        return ""
    unknown = [name for name in (reader, read) if name not in LEVEL]
    if unknown:
        return f"{unknown[0]} has no place in LAYERS"
    if reader == "page" and read not in PAGE_READS:
        return "page reads errors alone"
    if LEVEL[read] > LEVEL[reader]:
        return f"{read} is above {reader}"
    if LEVEL[read] == LEVEL[reader] and {reader, read} & PACKAGES:
        return f"{read} is beside {reader}"
    return ""


def upward_arrows(modules: Sources) -> list[str]:
    """Each import inside the house that does not run downward, with the reason."""
    arrows = []
    for module, text in modules.items():
        for node in ast.walk(ast.parse(text)):
            targets = imported(node, module, modules) if isinstance(node, ast.stmt) else []
            for target in dict.fromkeys(name for name in targets if name.split(".")[0] == "normscope"):
                reason = why_not(unit(module), unit(target))
                if reason:
                    arrows.append(f"{module}:{node.lineno} imports {target}: {reason}")
    return arrows


def early_libraries(modules: Sources) -> list[str]:
    """Each library that is imported when a module outside interfaces/ is."""
    known = {*sys.stdlib_module_names, "normscope"}
    return [
        f"{module}:{node.lineno} imports {target} at module level"
        for module, text in modules.items()
        if unit(module) not in LIBRARIES_ALLOWED
        for node in run_at_import(ast.parse(text).body)
        for target in imported(node, module, modules)
        if target.split(".")[0] not in known
    ]


def test_imports_run_downward():
    assert upward_arrows(sources(ROOT)) == []


def test_libraries_are_imported_where_they_are_used():
    assert early_libraries(sources(ROOT)) == []


def test_the_checker_sees_every_kind_of_upward_arrow():
    modules = {
        "normscope.__init__": "from .tracing import trace",
        "normscope.axes": "from normscope import lessons",
        "normscope.run": "def f():\n    from .views.cells import rules",
        "normscope.tracing": "import normscope.lessons.site",
        "normscope.page.html": "from ..norm import Norm",
        "normscope.views.cells": "from . import arrays\nfrom .. import run, tracing",
        "normscope.views.arrays": "from normscope import Norm",
        "normscope.diagnosis.__init__": "from ..comparison import compare",
        "normscope.lessons.__init__": "from .site import respond",
        "normscope.lessons.site": "from ..views.cells import rules\nfrom ..utils import x",
    }
    assert upward_arrows(modules) == [
        "normscope.axes:1 imports normscope.lessons: lessons is above axes",
        "normscope.run:2 imports normscope.views.cells: views is above run",
        "normscope.tracing:1 imports normscope.lessons.site: lessons is above tracing",
        "normscope.page.html:1 imports normscope.norm: page reads errors alone",
        "normscope.views.cells:2 imports normscope.tracing: tracing is above views",
        "normscope.views.arrays:1 imports normscope: __init__ is above views",
        "normscope.diagnosis.__init__:1 imports normscope.comparison: comparison is beside diagnosis",
        "normscope.lessons.site:2 imports normscope.utils: utils has no place in LAYERS",
    ]


def test_the_checker_sees_early_libraries_and_no_others():
    early = "import json\ntry:\n    import numpy\nexcept ImportError:\n    from onnx import helper"
    late = "if TYPE_CHECKING:\n    import numpy\nclass A:\n    def f(self):\n        import rich"
    modules = {"normscope.run": early, "normscope.norm": late, "normscope.interfaces.cli": "import click"}
    assert early_libraries(modules) == [
        "normscope.run:3 imports numpy at module level",
        "normscope.run:5 imports onnx at module level",
    ]
