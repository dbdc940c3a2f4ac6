"""Many Python threads at once, a fork, an interpreter that ends: the pool of threads bears all of it."""

import os
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from normscope.kernels import fallback, layer_norm
from normscope.kernels.extension import NATIVE

LARGE = (3000, 256)  # enough for several threads


def threads_alive() -> int:
    """The threads of this process, 3 where the system does not say."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.is_dir() else 3


def large(seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=LARGE).astype(np.float32)


def test_calls_from_many_threads_at_once(kernels):
    inputs = [large(seed) for seed in range(6)]
    right = [kernels.layer_norm(x, threads=1) for x in inputs]
    wrong: list[Any] = []
    together = threading.Barrier(len(inputs))

    def work(index: int) -> None:
        together.wait()
        for turn in range(15):
            y = kernels.layer_norm(inputs[index], threads=(None, 1, 2, 5)[turn % 4])
            if not np.array_equal(y, right[index]):
                wrong.append((index, turn))

    workers = [threading.Thread(target=work, args=(index,)) for index in range(len(inputs))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=60)
    assert not any(worker.is_alive() for worker in workers) and wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_made_by_fork_computes_too(kernels):
    """The child has none of its parent's threads: it must start its own, or compute alone."""
    x = large()
    right = kernels.layer_norm(x, threads=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of a fork beside threads
        child = os.fork()
    if child == 0:
        signal.alarm(30)
        same = all(np.array_equal(kernels.layer_norm(x, threads=count), right) for count in (2, None, 3, 1))
        os._exit(0 if same and (kernels is fallback or threads_alive() == 3) else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert np.array_equal(kernels.layer_norm(x, threads=2), right)


@pytest.mark.skipif(NATIVE is None, reason="without the extension there are no helpers")
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads cannot be kept on a processor here")
def test_a_child_that_is_kept_on_one_processor_stays_there():
    """What the parent knew of the processors is no longer so."""
    x = large()
    layer_norm(x, threads=2)
    one = min(os.sched_getaffinity(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        signal.alarm(30)
        os.sched_setaffinity(0, {one})
        for _ in range(20):
            layer_norm(x, threads=2)
        places = [os.sched_getaffinity(int(task.name)) for task in Path("/proc/self/task").iterdir()]
        os._exit(0 if len(places) == 2 and all(place == {one} for place in places) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_while_other_threads_compute(kernels):
    x = large()
    right = kernels.layer_norm(x, threads=2)
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            kernels.layer_norm(x, threads=2)

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(5):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                signal.alarm(30)
                os._exit(0 if np.array_equal(kernels.layer_norm(x, threads=2), right) else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        done.set()
        for worker in workers:
            worker.join(timeout=60)


@pytest.mark.parametrize("way", ["sys.exit(0)", "pass", "threading.Thread(target=again, daemon=True).start()"])
def test_an_interpreter_ends_while_the_pool_waits(way):
    code = f"""
import sys, threading
import numpy as np
from normscope import kernels
x = np.ones({LARGE}, np.float32)
def again():
    while True:
        kernels.layer_norm(x, threads=2)
kernels.layer_norm(x, threads=2)
{way}
"""
    ended = subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_other_python_threads_run_meanwhile(kernels):
    """The GIL is released: a thread that only counts goes on while rows are normalized."""
    x = np.ones((4000, 512), np.float32)
    out = np.empty_like(x)
    counted, during = [0], [0]
    done = threading.Event()

    def count() -> None:
        while not done.is_set():
            counted[0] += 1

    counting = threading.Thread(target=count)
    counting.start()
    try:
        for _ in range(20):
            before = counted[0]
            kernels.layer_norm(x, out=out, threads=1)
            during[0] += counted[0] - before
    finally:
        done.set()
        counting.join()
    assert during[0] > 0


APART = """
import os
import numpy as np
from normscope.kernels import layer_norm

before = os.sched_getaffinity(0)
for _ in range(20):
    layer_norm(np.zeros((3000, 256), np.float32), threads=2)
tasks = [os.sched_getaffinity(int(task)) for task in os.listdir("/proc/self/task")]
assert os.sched_getaffinity(0) == before, "the caller's own processors were changed"
print(sum(task < before and len(task) == len(before) - 1 for task in tasks))
"""


@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2 or NATIVE is None,
    reason="a helper keeps apart where there is one, and more than one processor",
)
def test_a_helper_stays_away_from_the_processor_of_the_thread_that_it_helps():
    ended = subprocess.run([sys.executable, "-c", APART], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "1\n"
