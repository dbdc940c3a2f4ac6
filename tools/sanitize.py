"""Builds the kernels' C code with AddressSanitizer and UndefinedBehaviorSanitizer and drives it over odd cases.

    python tools/sanitize.py            the whole extension, under Python
    python tools/sanitize.py threads    the pool of threads alone, with ThreadSanitizer, under pool_stress.c

The compiler is $CC, or cc. Exit code 0: nothing was found; 1: the sanitizer's report is on stderr; 77: the compiler
has no sanitizers, or this Python cannot run under them.
"""

import importlib.util
import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NATIVE = ROOT / "src" / "normscope" / "kernels" / "native"
MODULE = "normscope.kernels._native"
CHECKS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g", "-O1"]
THREAD_CHECKS = ["-fsanitize=thread", "-g", "-O1", "-std=c11", "-pthread"]
STRESS = ROOT / "tools" / "pool_stress.c"
MISSING = 77
WIDTHS = [1, 2, 3, 7, 8, 9, 15, 17, 31, 32, 33, 63, 65, 255, 257, 513]
OPTIONS = {
    # Python keeps memory until it ends; what NumPy takes must come from malloc, between poisoned zones.
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:exitcode=1",
    "PYTHONMALLOC": "malloc",
}


class NoSanitizer(Exception):
    """Why the sanitizers cannot be had here."""


def compiler() -> list[str]:
    """The command of the C compiler."""
    return shlex.split(os.environ.get("CC", "cc"))


def runtime() -> str:
    """The sanitizer's library, which must be loaded before Python."""
    try:
        command = [*compiler(), "-print-file-name=libasan.so"]
        path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoSanitizer(f"no C compiler: {error}") from error
    if not Path(path).is_absolute():
        raise NoSanitizer(f"{compiler()[0]} has no libasan.so")
    environment = {**os.environ, **OPTIONS, "LD_PRELOAD": path}
    command = [sys.executable, "-c", "import numpy"]
    if subprocess.run(command, env=environment, capture_output=True, check=False).returncode:
        raise NoSanitizer("this Python does not run under the sanitizer")
    return path


def build(folder: Path) -> Path:
    """The extension, compiled and linked with the sanitizers."""
    flags = [*CHECKS, "-std=c11", "-ffp-contract=off", "-fPIC", f"-I{sysconfig.get_path('include')}"]
    sources = sorted(NATIVE.glob("*.c"))
    objects = [folder / f"{source.stem}.o" for source in sources]

    def compile_one(source: Path, made: Path) -> None:
        subprocess.run([*compiler(), *flags, "-c", str(source), "-o", str(made)], check=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, sources, objects))
    library = folder / "_native.abi3.so"
    command = [*compiler(), *CHECKS, "-shared", "-pthread", *map(str, objects), "-lm", "-o", str(library)]
    subprocess.run(command, check=True)
    return library


def load(library: str) -> Any:
    """The extension from this file, in the place of the one that is installed."""
    spec = importlib.util.spec_from_file_location(MODULE, library)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[MODULE] = module
    return module


def exact_room(values: Any, lead: int, row: int) -> Any:
    """The same rows in memory that ends with their last cell: `lead` cells before, each row `row` cells longer."""
    import numpy as np

    count, width = values.shape
    room = np.empty(lead + (count - 1) * (width + row) + width, values.dtype)
    made = np.lib.stride_tricks.as_strided(
        room[lead:], values.shape, ((width + row) * values.itemsize, values.itemsize), subok=False
    )
    made[...] = values
    return made


def byte_room(values: Any) -> Any:
    """The same rows one byte off."""
    import numpy as np

    room = np.empty(values.nbytes + 1, np.uint8)[1:].view(values.dtype).reshape(values.shape)
    room[...] = values
    return room


def rooms(values: Any) -> Iterator[Any]:
    """The same rows from aligned, misaligned, strided and reversed memory."""
    for lead, row in ((0, 0), (1, 0), (0, 1), (3, 5)):
        yield exact_room(values, lead, row)
    yield exact_room(values[::-1], 1, 2)[::-1]
    yield byte_room(values)


def use(kernels: Any, x: Any, gamma: Any, beta: Any, threads: int) -> None:
    """Every function once, with outputs that end where their last cell does."""
    out, total = exact_room(x, 1, 1), exact_room(x, 2, 0)
    kernels.layer_norm(x, gamma, beta, out=out, threads=threads)
    kernels.layer_norm(x, threads=threads)
    kernels.rms_norm(x, gamma, out=out, threads=threads)
    kernels.add_layer_norm(x, out, gamma, beta, out=exact_room(x, 0, 3), sum_out=total, threads=threads)
    kernels.add_rms_norm(x, total, None, threads=threads)
    kernels.layer_norm_backward(out, x, gamma, threads=threads)
    kernels.layer_norm(total, gamma, beta, out=total, threads=threads)


def drive(library: str) -> None:
    """Run the kernels over every width, layout, storage, instruction set and kind of store."""
    import ml_dtypes
    import numpy as np

    native = load(library)
    from normscope import kernels

    random = np.random.default_rng(0)
    ways = [("portable", "plain"), *product(("avx2", "avx512"), ("plain", "streaming"))]
    for instructions, stores in ways:
        try:
            native.force(instructions, stores)
        except ValueError:
            continue  # another processor
        for width, dtype in product(WIDTHS, (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)):
            x = random.normal(size=(19, width))
            x[3], x[5, 0], x[7, -1], x[9], x[11, width // 2] = 1e4, 1e4, np.nan, 0.0, np.inf
            x = x.astype(dtype)
            gamma, beta = exact_room(random.normal(size=(2, width)).astype(dtype), 1, 0)
            for index, given in enumerate(rooms(x)):
                use(kernels, given, gamma[:: 1 - 2 * (index % 2)], beta, 1 + index % 3)
        print(f"{instructions}, {stores} stores: {len(WIDTHS)} widths", flush=True)


def stress(folder: Path, pool: Path = NATIVE / "pool.c") -> int:
    """The exit code of pool_stress.c with this pool: not 0 where threads raced or a part was left out."""
    program, harmless = folder / "stress", folder / "harmless.c"
    harmless.write_text("int main(void) { return 0; }", encoding="utf-8")
    build = [*compiler(), *THREAD_CHECKS, f"-I{NATIVE}", "-o", str(program)]
    try:
        subprocess.run([*build, str(harmless)], check=True, capture_output=True)
        subprocess.run([str(program)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoSanitizer(f"no ThreadSanitizer: {error}") from error
    subprocess.run([*build, str(STRESS), str(pool)], check=True)
    try:
        return subprocess.run([str(program)], timeout=60, check=False).returncode
    except subprocess.TimeoutExpired:
        print("sanitize: the pool hangs", file=sys.stderr)
        return 1


def driven(folder: Path) -> int:
    """The exit code of `drive`, in a Python of its own under the sanitizers."""
    environment = {**os.environ, **OPTIONS, "LD_PRELOAD": runtime()}
    command = [sys.executable, __file__, str(build(folder))]
    return subprocess.run(command, env=environment, check=False).returncode


def main(check: Callable[[Path], int]) -> int:
    """Make a check in a folder of its own; the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return min(abs(check(Path(folder))), 1)
        except NoSanitizer as missing:
            print(f"sanitize: {missing}", file=sys.stderr)
            return MISSING


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            sys.exit(main(driven))
        case ["threads"]:
            sys.exit(main(stress))
        case [library]:
            drive(library)
