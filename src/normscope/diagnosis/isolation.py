"""Judging a stranger's functions: in a child process under limits, or in this one."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import ImplementationError
from ..norm import Norm
from . import loading
from .child import Child, Died, Limits
from .frames import examine
from .session import Session

if TYPE_CHECKING:
    from .verdict import Verdict

Functions = Mapping[str, tuple[loading.Place, str]]  # "forward" and "backward": where each stands, and its name
HERE = "run in this process, without limits of time and memory."


def in_child(
    functions: Functions,
    norm: Norm,
    *,
    framework: str | None = None,
    dtype: str | None = None,
    seed: int = 0,
    limits: Limits | None = None,
    watch: Callable[[Child], None] = lambda child: None,
) -> "Verdict":
    """Import the functions in a child process, and judge what they answer.

    watch  told of the child at the start: its `status` says what it is doing

    Raises ImplementationError for a function that is not there, and FileError for code that cannot be imported.
    """
    examine(framework)
    names = {kind: name for kind, (_, name) in functions.items()}
    load = {"do": "load", "functions": {kind: [at.module, at.file, name] for kind, (at, name) in functions.items()}}
    prepare = {"do": "prepare", "norm": norm.to_json(), "framework": framework, "names": names}
    with Child(limits or Limits()) as child:
        watch(child)
        from . import judge  # noqa: F401  NumPy with it, while the child loads its own

        session = Session(child, load, prepare)
        _loaded(session, next(iter(functions.values()))[0])
        parts = session.prepare(names)
        child.status = "judging"
        verdict = judged(parts.get("forward"), parts.get("backward"), norm, dtype, seed)
        return with_notes(verdict, session.notes, *(part.notes for part in parts.values()), printed(*session.printed))


def _loaded(session: Session, place: loading.Place) -> None:
    """Let the child import; an error where it cannot."""
    try:
        said = session.load()
    except Died as died:
        more = "; --time allows more" if died.kind == "timeout" else ""
        raise loading.unimportable(place, f"{died}{more}.") from None
    if "missing" in said:
        raise ImplementationError(said["missing"])
    if "broken" in said:
        raise loading.unimportable(place, said["broken"])


def in_process(
    forward: Any,
    backward: Any,
    norm: Norm,
    *,
    framework: str | None = None,
    dtype: str | None = None,
    seed: int = 0,
) -> "Verdict":
    """Judge functions by calling them here."""
    from .pair import Pair

    pair = Pair.of(forward, backward, norm, framework)
    verdict = judged(pair.forward, pair.backward, norm, dtype, seed)
    parts = [part for part in pair.parts.values() if part is not None]
    sink = parts[0].printed
    return with_notes(verdict, pair.notes, *(part.notes for part in parts), printed(sink.count, sink.start))


def judged(forward: Any, backward: Any, norm: Norm, dtype: str | None, seed: int) -> "Verdict":
    """The judgement of the values, and of the dtypes that they came in."""
    from .dtypes import Watched, with_dtypes
    from .judge import judge
    from .tried import tried

    ahead, back = (None if each is None else Watched(each) for each in (forward, backward))
    verdict = judge(ahead, norm, backward=back, dtype=dtype, seed=seed)
    watched = [each for each in (ahead, back) if each is not None]
    verdict = with_dtypes(verdict, watched)
    return with_notes(verdict, tried(norm, watched[0].shapes)) if verdict.verdict == "correct" else verdict


def with_notes(verdict: "Verdict", *notes: tuple[str, ...]) -> "Verdict":
    """The verdict with what else a reader should know, each note once."""
    listed = dict.fromkeys([*verdict.notes, *(note for some in notes for note in some)])
    return replace(verdict, notes=tuple(listed))


def printed(count: int, start: str) -> tuple[str, ...]:
    """What is said of text that a function wrote."""
    if not count:
        return ()
    first = start.strip().partition("\n")[0][:60]
    return (f"it printed {count:,} characters, which were kept from view; they begin {first!r}.",)
