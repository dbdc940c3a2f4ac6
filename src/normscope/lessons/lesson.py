"""What a lesson is: a state and its drawing. The way from an address to a drawing is the same for all."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import NormscopeError, StateError
from ..page.controls import Complaint
from ..page.html import Html
from .sources import Source
from .state import Codec, Query, act, complaint, read, write

Sources = Mapping[str, Source]
Feeds = Mapping[str, Mapping[str, list[str]]]


def _nothing(state: Any, sources: Sources) -> Feeds:
    return {}


@dataclass(frozen=True, eq=False)
class Lesson:
    """A page of the lab.

    state    a frozen dataclass whose fields all have defaults; `bad` is an action that could not be done
    codecs   how each field is read from an address and written to it
    check    the state, if everything in it fits together; a NormscopeError names what does not
    done     the state after an action: a field and a value; NormscopeError or ValueError where it cannot be done
    drawing  what stands in the main element, in regions, with what was wrong with the last action
    looking  fields that change what is seen, not what is set: a complaint outlives them
    feeds    for the script: what lights up beside a value, along its whole row or cell by cell
    """

    title: str
    path: str
    state: type[Any]
    codecs: Mapping[str, Codec]
    check: Callable[[Any, Sources], Any]
    done: Callable[[Any, str, str, Sources], Any]
    drawing: Callable[[Any, Sources, Complaint], Html]
    looking: Container[str] = ()
    feeds: Callable[[Any, Sources], Feeds] = _nothing

    def state_of(self, query: Query, sources: Sources) -> Any:
        """The state of an address after its actions; StateError if the address itself is wrong."""
        try:
            state = self.check(read(self.state, self.codecs, query.fields), sources)
        except NormscopeError as error:
            raise StateError(str(error)) from None
        for field, value in query.actions:
            state = act(state, field, value, self._done_with(sources), self.looking)
        return state

    def canonical(self, state: Any) -> str:
        """The address of a state, without its path."""
        return write(state, self.codecs)

    def draw(self, state: Any, sources: Sources) -> Html:
        """What stands in the main element of a state."""
        field, value = state.bad or ("", "")
        return self.drawing(state, sources, Complaint(field, value, complaint(state, self._done_with(sources))))

    def _done_with(self, sources: Sources) -> Callable[[Any, str, str], Any]:
        return lambda state, field, value: self.done(state, field, value, sources)
