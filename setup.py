"""The kernels' C extension; everything else about the package is in pyproject.toml.

Without a compiler, or where it does not compile, the package is installed all the same: NumPy then serves.
"""

import sysconfig
from pathlib import Path

from setuptools import Extension, setup

NATIVE = Path("src/normscope/kernels/native")
STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")  # a free-threaded Python has no stable interface yet

setup(
    ext_modules=[
        Extension(
            "normscope.kernels._native",
            sources=sorted(str(path) for path in NATIVE.glob("*.c")),
            depends=sorted(str(path) for path in NATIVE.glob("*.h")),
            # No contraction and no fast-math: every path must round alike. What errno says of a root is not asked.
            extra_compile_args=[
                "-O3",
                "-fno-math-errno",
                "-std=c11",
                "-ffp-contract=off",
                "-fvisibility=hidden",
                "-g0",
                "-Wall",
                "-Wextra",
            ],
            extra_link_args=["-pthread"],
            libraries=["m"],
            py_limited_api=STABLE,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
