"""Every link of a finding is a state that the site draws, and one that shows what it is about."""

from itertools import product

import pytest

import normscope as ns
from normscope.diagnosis import changes, gradients_of, rounded, running
from normscope.diagnosis.definition import right
from normscope.diagnosis.judge import judge
from normscope.diagnosis.links import EXHIBITS, address
from normscope.lessons.museum.catalogue import EXHIBITS as CATALOGUE
from normscope.lessons.site import LESSONS, respond
from normscope.lessons.state import split
from tests.diagnosis.asking import Local
from tests.lessons.dom import parse

NORMS = {
    "layer_norm": ns.layer_norm(), "rms_norm": ns.rms_norm(), "batch_norm": ns.batch_norm(),
    "batch_norm_eval": ns.batch_norm(training=False), "group_norm": ns.group_norm(2),
    "instance_norm": ns.instance_norm(), "pattern": ns.Norm("N [C] H W", "C"), "other": ns.Norm("A B [E F]"),
}  # fmt: skip
DOWN = ("dx", "dgamma", "dbeta")


def reported(norm):
    """Every id and step that a judgement of a norm can give."""
    fitted = norm.fit(4 if norm.axes[0] in "NA" else 3)
    base = right(fitted)
    tables = [
        changes.statistics_changes(base), changes.division_changes(base), changes.axes_changes(base, None),
        changes.block_changes(base), (change for change, *_ in rounded.kept_changes(base, "float32", "float64")),
        (changes.solved_eps(times, plus) for times, plus in product((0, 1, 2.5), (0, 0.5))),
        *(changes.affine_changes(*form, base) for form in product(changes.SCALES, changes.SHIFTS)),
    ]  # fmt: skip
    made = {(change.id, change.step) for table in tables for change in table}
    gradient = gradients_of.textbook(fitted, frozenset({"gamma", "beta"}))
    made |= {(change.id, "dx") for change in gradients_of.dx_changes(gradient)}
    made |= {(change.id, name) for name in DOWN[1:] for change in gradients_of.parameter_changes(name)}
    made |= {(id, running.LINK) for id, _ in running.WORDS.values()}
    made |= {("unrecognised", step) for step in ("axes", "var", *DOWN)} | {("root-gradient-at-zero", "dx")}
    if not norm.shift:
        made = {each for each in made if each[1] != "dbeta"}
    return made | {("squares-in-half", "q"), ("one-pass-variance", "var"), ("returns-dy", "dx"), ("missing-dx", "dx")}


def shown(link):
    """What a link shows, once the site has drawn it."""
    path, _, query = link.partition("?")
    status, _, body = respond(path, query)
    assert status == 200, link
    state = LESSONS[path].state_of(split(query), {})
    assert state.bad is None, link
    return path, state, parse(body)


@pytest.mark.parametrize("name", NORMS)
def test_every_link_shows_what_it_is_about(name):
    norm = NORMS[name]
    if name.startswith("batch_norm_eval"):
        made = {("batch-statistics-in-evaluation", "axes"), ("eps-outside-root", "r"), ("scale-missing", "scaled")}
    else:
        made = reported(norm)
    links = {address(id, step, norm): (id, step) for id, step in made}
    assert len(made) > 2 and "" not in links
    for link, (id, step) in links.items():
        path, state, drawn = shown(link)
        if path == "/mistakes":
            assert state.show == id and id in drawn.one(id="heading").text
        elif path == "/axes":
            wanted = {"other": "layer_norm"}.get(name, name)
            assert state.norm == wanted and not drawn.one(id="axes").all(class_="bad")
        else:
            assert name in ("layer_norm", "rms_norm", "other")
            assert (state.norm or "layer_norm") == ("rms_norm" if name == "rms_norm" else "layer_norm")
            assert state.back == (step in DOWN)
            held = {("v", "r"), *([("mu", "xhat"), ("c", "xhat"), ("scaled", "y")] if name == "rms_norm" else [])}
            assert state.step == step or (step, state.step) in held


def test_the_ids_are_the_museums():
    assert set(CATALOGUE) == EXHIBITS


def test_a_judgement_gives_addresses():
    def batch_norm(x, gamma, beta, eps):
        return x * gamma

    (finding, *_) = judge(Local(batch_norm), ns.batch_norm()).findings
    assert finding.link.startswith(("/axes?v=1&norm=batch_norm", "/mistakes?v=1&show="))
