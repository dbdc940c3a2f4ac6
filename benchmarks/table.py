"""One line of the table: a figure, the floor that must hold and the goal that is aimed at."""

from dataclasses import dataclass

WIDTHS = (62, 14, 12, 12, 7)


@dataclass(frozen=True)
class Figure:
    """A measured figure.

    floor, goal  what it must and what it should reach; None: it is only told
    more         whether more is better
    """

    what: str
    measured: float
    unit: str = ""
    floor: float | None = None
    goal: float | None = None
    more: bool = False

    def reaches(self, mark: float | None) -> bool:
        """Whether the figure is as good as a mark."""
        return mark is None or (self.measured >= mark if self.more else self.measured <= mark)

    @property
    def missed(self) -> bool:
        """Whether the figure is below its floor."""
        return not self.reaches(self.floor)

    @property
    def verdict(self) -> str:
        """One word for the table."""
        if self.floor is None:
            return ""
        return "MISSED" if self.missed else "goal" if self.reaches(self.goal) else "floor"

    def __str__(self) -> str:
        sign = "≥" if self.more else "≤"
        marks = ["" if mark is None else f"{sign} {mark:g}" for mark in (self.floor, self.goal)]
        return line(self.what, f"{self.measured:.4g} {self.unit}", *marks, self.verdict)


@dataclass(frozen=True)
class Missing:
    """A figure that could not be had here, and why."""

    what: str
    why: str
    missed = False

    def __str__(self) -> str:
        return line(self.what, "not measured", "", "", self.why)


def truth(what: str, holds: bool) -> Figure:
    """A figure that is right or wrong: 1 or 0, and 1 must be reached."""
    return Figure(what, float(holds), "", 1, 1, more=True)


def line(*cells: str) -> str:
    """Cells in columns."""
    return " | ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()


HEAD = line("what", "measured", "floor", "goal", "verdict")
