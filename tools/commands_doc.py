"""docs/commands.md from the commands' own help: `python tools/commands_doc.py`, or `--check` it."""

import sys
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.generated import settle  # noqa: E402

PAGE = ROOT / "docs" / "commands.md"
HEAD = """# Commands

Made from the commands' own help by `python tools/commands_doc.py`; a test checks it.
"""


def page(group: click.Group, name: str = "normscope") -> str:
    """The help of a group and of each of its commands, in Markdown."""
    width = {"max_content_width": 100, "terminal_width": 100}
    context = click.Context(group, info_name=name, **width, **group.context_settings)
    parts = [HEAD, _section(name, group.get_help(context))]
    for each in group.list_commands(context):
        command = group.commands[each]
        inner = click.Context(command, context, each, **width)
        parts.append(_section(f"{name} {each}", command.get_help(inner)))
    return "\n".join(parts)


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n```text\n{text}\n```\n"


def main(arguments: list[str]) -> str:
    """Write the page, or say why it is not current."""
    from normscope.interfaces.cli import normscope

    return settle(PAGE, page(normscope), "commands_doc.py", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) or None)
