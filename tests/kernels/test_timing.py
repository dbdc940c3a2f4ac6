"""Medians of samples taken in turn, on a clock of our own."""

import pytest

from normscope.kernels import timing
from normscope.kernels.timing import Sample


class Clock:
    """A clock that only work and pauses move, and a count of preemptions."""

    def __init__(self):
        self.now, self.preempted, self.calls = 0.0, 0, []

    def work(self, name, *seconds, preempted=()):
        """A function that takes these times in turn, the last one from then on."""
        left, lost = list(seconds), list(preempted)

        def run():
            self.calls.append(name)
            self.now += left.pop(0) if len(left) > 1 else left[0]
            self.preempted += lost.pop(0) if lost else 0

        return run

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(timing.time, "perf_counter", lambda: made.now)
    monkeypatch.setattr(timing.time, "sleep", made.sleep)
    monkeypatch.setattr(timing, "_preemptions", lambda: made.preempted)
    return made


def test_the_median_of_samples_in_turn_after_a_first_call(clock):
    a, b = clock.work("a", 9, 1, 1, 5, 2), clock.work("b", 9, 3)
    assert timing.interleaved({"a": a, "b": b}, 100, rounds=3) == {"a": 2, "b": 3}
    assert clock.calls == ["a", "a", "b", "b", *"abbaab"]  # the next one is first in the next round


def test_a_short_call_is_repeated_within_a_sample(clock):
    quick = clock.work("quick", 2**-13)
    assert timing.interleaved({"quick": quick}, 100, rounds=4)["quick"] == 2**-13
    assert len(clock.calls) == 2 + 4 * 41  # at least 5 ms a sample


def test_no_round_begins_after_its_time_but_there_are_three(clock):
    timing.interleaved({"slow": clock.work("slow", 10)}, 1, rounds=25)
    assert len(clock.calls) == 2 + 3
    clock.calls.clear()
    timing.interleaved({"slow": clock.work("slow", 10)}, 85, rounds=25)
    assert len(clock.calls) == 2 + 7


def test_samples_in_which_the_processor_was_taken_away_are_dropped(clock):
    lost = (0, 0, 4, 0, 7, 0)
    slow = clock.work("slow", 1, 1, 30, 1, 40, 2, preempted=lost)
    assert timing.interleaved({"slow": slow}, 1000, rounds=4) == {"slow": 1.5}


def test_where_all_are_disturbed_the_calmest_third_counts():
    samples = [Sample(seconds, lost) for seconds, lost in ((5, 9), (1, 1), (6, 8), (7, 7), (2, 2), (8, 6))]
    assert [each.seconds for each in timing.undisturbed(samples)] == [1, 2]


def test_the_watch_is_told_every_round(clock):
    seen = []
    timing.interleaved({"a": clock.work("a", 1)}, 100, rounds=3, watch=lambda done, of: seen.append((done, of)))
    assert seen == [(0, 3), (1, 3), (2, 3)]


def test_the_system_counts_preemptions():
    assert timing._preemptions() >= 0
