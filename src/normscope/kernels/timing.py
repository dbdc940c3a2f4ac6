"""Times of several functions, measured in turn, so that what slows the machine slows all of them."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median

Work = Callable[[], object]
Watch = Callable[[int, int], None]

ROUNDS, FEWEST = 25, 3
LEAST = 5e-3  # seconds of a sample: a shorter call is repeated within it, since the clock and its reading take time
MOST_REPEATS = 20_000
PAUSE = 1e-2  # seconds before a sample, in which the threads of the function before it come to rest


@dataclass(frozen=True)
class Sample:
    """One sample: seconds a call, and how often the system took the processor away meanwhile."""

    seconds: float
    preempted: int


def interleaved(
    work: Mapping[str, Work], seconds: float, rounds: int = ROUNDS, watch: Watch = lambda done, of: None
) -> dict[str, float]:
    """The median seconds that each takes, after a first call that does not count.

    seconds  after which no new round begins; there are never fewer than three
    watch    is told before every round how many are done, and of how many

    >>> taken = interleaved({"nothing": lambda: None, "a sleep": lambda: time.sleep(0.002)}, 0.1)
    >>> taken["nothing"] < 0.001 < taken["a sleep"]
    True
    """
    end = time.perf_counter() + seconds
    repeats = {name: _repeats(each) for name, each in work.items()}
    names = list(work)
    samples: dict[str, list[Sample]] = {name: [] for name in names}
    for done in range(rounds):
        if done >= FEWEST and time.perf_counter() > end:
            break
        watch(done, rounds)
        first = done % len(names)  # so that none always follows the same one, which may leave threads that still wait
        for name in names[first:] + names[:first]:
            samples[name].append(_sample(work[name], repeats[name]))
    return {name: median(each.seconds for each in undisturbed(taken)) for name, taken in samples.items()}


def undisturbed(samples: Sequence[Sample]) -> Sequence[Sample]:
    """The samples in which nothing took the processor away; on a busy machine the third with the least of it.

    >>> undisturbed([Sample(1, 0), Sample(9, 4), Sample(2, 0)])
    [Sample(seconds=1, preempted=0), Sample(seconds=2, preempted=0)]
    """
    by_calm = sorted(samples, key=lambda sample: sample.preempted)
    calm = sum(sample.preempted == 0 for sample in samples)
    return by_calm[: max(calm, ceil(len(samples) / 3))]


def _repeats(work: Work) -> int:
    """How many calls make a sample; the first call, which fills caches and allocates, is made here."""
    work()
    once = _sample(work, 1).seconds
    return min(MOST_REPEATS, max(1, ceil(LEAST / max(once, 1e-9))))


def _sample(work: Work, repeats: int) -> Sample:
    time.sleep(PAUSE)
    before, started = _preemptions(), time.perf_counter()
    for _ in range(repeats):
        work()
    return Sample((time.perf_counter() - started) / repeats, _preemptions() - before)


def _preemptions() -> int:
    """How often a thread of this process had to give way; 0 where the system does not say."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:
        return 0
    return getrusage(RUSAGE_SELF).ru_nivcsw
