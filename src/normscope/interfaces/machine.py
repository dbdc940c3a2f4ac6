"""What a measurement was made on: processor, caches, memory, and the versions of what was measured."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

CPUINFO = Path("/proc/cpuinfo")
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
SETS = ("avx2", "fma", "f16c", "avx512f", "avx512_bf16", "asimd", "sve")  # instruction sets that a kernel could use
PACKAGES = ("numpy", "torch", "onnxruntime")


def describe() -> dict[str, Any]:
    """The machine as JSON values; what the system does not tell is left out.

    >>> sorted(describe().keys() & {"cpu", "cores", "system", "python"})
    ['cores', 'cpu', 'python', 'system']
    """
    told = _cpuinfo()
    found: dict[str, Any] = {
        "cpu": told.get("model name") or platform.processor() or platform.machine(),
        "cores": cores(),
        "instruction_sets": [name for name in SETS if name in (told.get("flags") or told.get("Features", "")).split()],
        "caches": _caches(),
        "memory_bytes": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: known for name in PACKAGES if (known := _version(name))},
    }
    return {name: value for name, value in found.items() if value not in (None, [], {})}


def cores() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def written(machine: dict[str, Any]) -> str:
    """The machine in a sentence.

    >>> written({"cpu": "A 1", "cores": 2, "caches": {"L2": "2 MiB"}, "system": "Linux x86_64", "python": "3.11.7"})
    'A 1, 2 cores, L2 2 MiB; Linux x86_64, Python 3.11.7.'
    """
    sets = ", ".join(machine.get("instruction_sets", []))
    caches = ", ".join(f"{level} {size}" for level, size in machine.get("caches", {}).items())
    count = f"{machine['cores']} core{'' if machine['cores'] == 1 else 's'}"
    hardware = ", ".join(part for part in (machine["cpu"], count, sets, caches) if part)
    packages = (f"{name} {known}" for name, known in machine.get("packages", {}).items())
    return f"{hardware}; {', '.join([machine['system'], 'Python ' + machine['python'], *packages])}."


def _cpuinfo() -> dict[str, str]:
    """What Linux tells of the first processor."""
    try:
        lines = CPUINFO.read_text().partition("\n\n")[0].splitlines()
    except OSError:
        return {}
    pairs = (line.partition(":") for line in lines)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _caches() -> dict[str, str]:
    """The sizes of the data caches of one core, and of the one that cores share, by level."""
    found = {}
    for place in sorted(CACHES.glob("index*")):
        try:
            kind, level, size = ((place / name).read_text().strip() for name in ("type", "level", "size"))
        except OSError:
            continue
        if kind != "Instruction":
            found[f"L{level}"] = _unit(size)
    return found


def _unit(size: str) -> str:
    """`2048K` as people write it."""
    kib = int(size.removesuffix("K")) if size.endswith("K") else 0
    return (f"{kib / 1024:g} MiB" if kib >= 1024 else f"{kib} KiB") if kib else size


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _version(package: str) -> str | None:
    try:
        return version(package).partition("+")[0]
    except PackageNotFoundError:
        return None
