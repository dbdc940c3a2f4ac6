"""Pages that a tool writes: each is written anew, or with --check only compared with what it would be."""

from pathlib import Path


def settle(page: Path, made: str, tool: str, arguments: list[str]) -> str:
    """Write the page, or with --check say why it is not current: nothing where it is."""
    if "--check" not in arguments:
        page.write_text(made, encoding="utf-8")
        return ""
    current = page.exists() and page.read_text(encoding="utf-8") == made
    return "" if current else f"{page} is not current; run: python tools/{tool}"
