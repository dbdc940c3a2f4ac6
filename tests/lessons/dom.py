"""A page as a tree, for tests: the standard library's HTML parser and a few questions."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"br", "hr", "input", "link", "meta"}


@dataclass
class Node:
    """An element with its attributes, children and text."""

    tag: str
    attributes: dict[str, str]
    children: list["Node"] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text inside, in order, white space folded."""
        return " ".join("".join(self._texts()).split())

    def _texts(self):
        for child in self.children:
            if child.tag == "#text":
                yield child.words[0]
            else:
                yield from child._texts()

    def walk(self):
        """Every element below."""
        for child in self.children:
            if child.tag != "#text":
                yield child
                yield from child.walk()

    def all(self, tag: str | None = None, **attributes: str) -> list["Node"]:
        """Every element below of this tag with these attributes (`data_t` is data-t, `class_` holds the word)."""
        return [node for node in self.walk() if node.fits(tag, attributes)]

    def one(self, tag: str | None = None, **attributes: str) -> "Node":
        """The only element below that fits."""
        found = self.all(tag, **attributes)
        assert len(found) == 1, f"{len(found)} elements fit {tag} {attributes}"
        return found[0]

    def fits(self, tag: str | None, wanted: dict[str, str]) -> bool:
        """Whether the element is of this tag with these attributes."""
        if tag and self.tag != tag:
            return False
        for key, value in wanted.items():
            name = key.rstrip("_").replace("_", "-")
            own = self.attributes.get(name)
            if own is None or (value not in own.split() if name == "class" else own != value):
                return False
        return True


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.stack = [Node("#root", {})]

    def handle_starttag(self, tag, attrs):
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.stack[-1].children.append(node)
        if tag not in VOID:
            self.stack.append(node)

    def handle_endtag(self, tag):
        assert self.stack[-1].tag == tag, f"</{tag}> closes <{self.stack[-1].tag}>"
        self.stack.pop()

    def handle_data(self, data):
        self.stack[-1].children.append(Node("#text", {}, words=[data]))


def parse(html: str) -> Node:
    """The tree of a page; fails where a tag is closed wrongly."""
    builder = _Builder()
    builder.feed(html)
    builder.close()
    assert len(builder.stack) == 1, f"<{builder.stack[-1].tag}> is never closed"
    return builder.stack[0]
