"""A run of a model as one page that needs nothing: plots against depth, the tables behind them, how to go on."""

from collections.abc import Iterable, Sequence
from functools import partial

from ..models.found import eps_text
from ..models.measuring import Measured, Spread
from ..page.curves import key
from ..page.depth import Depth, Series, drawing, numbers
from ..page.frame import frame
from ..page.html import Html, el, group
from ..page.numbers import written
from .export import document
from .inspect_run import NONE, Run, lost_text, told

MARKS = ("square", "disc", "ring", "diamond")
FIVE = (("most", "most"), ("high", "95 of 100"), ("median", "median"), ("least", "least"))
WORDS = {
    "pytorch-bf16": "bf16, statistics in fp32",
    "steps-bf16": "bf16, statistics too",
    "pytorch-fp16": "fp16, statistics in fp32",
    "steps-fp16": "fp16, statistics too",
}
HEADS = (
    "no.",
    "norm",
    "kind",
    "axes",
    "eps",
    "shape of x",
    "rows",
    "max |x|",
    "at feature",
    "outlier features",
    "y off by",
)


def report(model: str, feeds: str, made: Run, command: str, warnings: Sequence[str] = ()) -> str:
    """The whole page: the run's figures, and before them the `warnings` of the inspection.

    command  opens a norm in the lab, but for the norm's name
    """
    count = len(made.norms)
    head = el("header", el("h1", f"Norms of {model}"), el("p", _lead(feeds, count), class_="source"), class_="lead")
    lines = [*warnings, *told(made)]
    notes = el("ul", *(el("li", line) for line in lines))
    said = [el("section", el("h2", "What to know"), notes, class_="said")] if lines else []
    plots = el("div", *_plots(made.norms), class_="depths")
    main = el(
        "main",
        head,
        _facts(made.norms),
        *said,
        plots,
        _every(made.norms, command),
        id="main",
        class_="lesson still inspected",
    )
    return document(f"Norms of {model}", main, group("Written by normscope inspect."))


def _lead(feeds: str, count: int) -> str:
    calls = f"{count} call{'' if count == 1 else 's'} of norms"
    return f"What entered and left {calls}, in the order of the run, on the input in {feeds}."


def _facts(norms: Sequence[Measured]) -> Html | None:
    """The extremes of the run, each with where it is."""
    if not norms:
        return el("p", "Nothing went through a norm.")
    widest = max(norms, key=lambda each: _rank(each.var.most))
    largest = max(norms, key=lambda each: _rank(each.largest))
    facts = [
        ("largest variance of a row", written(widest.var.most, 5), widest.where),
        ("largest |x|", f"{written(largest.largest, 5)} at feature {largest.feature}", largest.where),
    ]
    known = [each for each in norms if each.eps_share is not None]
    if known:
        most = max(known, key=lambda each: _rank(_share(each)))
        facts.append(("most that eps is of var + eps", written(_share(most), 3), most.where))
    lossy = [each for each in norms if each.lost]
    if lossy:
        worst = max(lossy, key=lambda each: each.lost[0].worst)
        facts.append(("worst row in bf16 as PyTorch rounds", f"{lost_text(worst, 0)} ulp", worst.where))
    rows = (el("tr", el("th", name, scope="row"), el("td", value), el("td", where)) for name, value, where in facts)
    return frame("The extremes of this run", el("table", el("tbody", *rows), class_="figures facts"))


def _rank(value: float) -> float:
    """A number by its size; what is none comes last."""
    return value if value == value else -1.0


def _share(each: Measured) -> float:
    return float("nan") if each.eps_share is None else each.eps_share.most


def _plots(norms: Sequence[Measured]) -> Iterable[Html | None]:
    layers = tuple(each.where for each in norms)
    if not layers:
        return
    plot = partial(_plot, layers)
    yield plot("var", "Variance of the rows", "variance", _spreads(norms, "var"), True)
    yield plot(
        "largest", "Largest |x|", "|x|", [Series("largest", "square", tuple(each.largest for each in norms))], True
    )
    yield plot("mean", "Mean of the rows", "mean", _spreads(norms, "mean"), False)
    yield plot("share", "Share of eps", "eps / (var + eps)", _spreads(norms, "eps_share"), True)
    yield plot("gamma", "gamma", "gamma", _parameter(norms, "gamma"), False)
    yield plot("beta", "beta", "beta", _parameter(norms, "beta"), False)
    yield plot("lost", "Worst error of a row in narrow formats", "ulp of the format", _losses(norms), True)


def _spreads(norms: Sequence[Measured], name: str) -> list[Series]:
    return _five([getattr(each, name) for each in norms])


def _parameter(norms: Sequence[Measured], role: str) -> list[Series]:
    return _five([each.parameters.get(role) for each in norms])


def _five(spreads: Sequence[Spread | None]) -> list[Series]:
    """Most, high, median and least of every layer; nan where there is nothing to tell."""
    if not any(spreads):
        return []
    return [
        Series(name, mark, tuple(float("nan") if each is None else getattr(each, field) for each in spreads))
        for (field, name), mark in zip(FIVE, MARKS, strict=True)
    ]


def _losses(norms: Sequence[Measured]) -> list[Series]:
    if not any(each.lost for each in norms):
        return []
    worst = [{lost.policy: lost.worst for lost in each.lost} for each in norms]
    return [
        Series(words, mark, tuple(each.get(policy, float("nan")) for each in worst))
        for (policy, words), mark in zip(WORDS.items(), MARKS, strict=True)
    ]


def _plot(layers: tuple[str, ...], id: str, title: str, name: str, series: list[Series], powers: bool) -> Html | None:
    """A plot with its key, and the table behind it."""
    if not series:
        return None
    label = f"{title}, for each norm in the order of the run; the numbers stand in the table"
    plot = Depth(f"plot-{id}", label, name, layers, tuple(series), powers)
    keys = (el("span", key(each.mark), f" {each.name}") for each in series)
    head = el("div", el("h2", title), *keys, class_="lanes-head")
    table = _table(("no.", "norm", *(each.name for each in series)), numbers(plot))
    folded = el(
        "details", el("summary", "The numbers of the plot"), frame(f"The numbers of: {title}", table), class_="folded"
    )
    return el("section", head, drawing(plot), folded, class_="plots")


def _every(norms: Sequence[Measured], command: str) -> Html | None:
    """Every norm with what a plot does not show."""
    if not norms:
        return None
    rows = [_line(at, each) for at, each in enumerate(norms, 1)]
    how = el("p", "One of them in the lab, with its real activations: ", el("code", f"{command} --open NORM"))
    return el("section", el("h2", "Every norm"), how, frame("Every norm", _table(HEADS, rows)), class_="every")


def _line(at: int, each: Measured) -> list[object]:
    far = [f"{feature} ({written(value, 4)})" for feature, value in each.outliers]
    shape = " × ".join(map(str, each.shape))
    off = NONE if each.apart is None else written(each.apart, 2)
    peak = [written(each.largest, 5), each.feature]
    norm = [each.where, each.kind, each.pattern, eps_text(each.eps).replace("e-0", "e-")]
    return [at, *norm, shape, f"{each.rows:,}", *peak, ", ".join(far) or NONE, off]


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> Html:
    head = el("thead", el("tr", *(el("th", each, scope="col") for each in heads)))
    body = (el("tr", el("th", row[0], scope="row"), *(el("td", cell) for cell in row[1:])) for row in rows)
    return el("table", head, el("tbody", *body), class_="figures named-rows")
