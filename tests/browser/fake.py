"""A page with one control of each kind and nothing else: what the script is tested on, apart from any lesson.

It follows the same protocol as the site: the address is the state, `do=FIELD:VALUE` changes it, and `patch=`
asks for the regions that differ.
"""

from html import escape
from urllib.parse import parse_qsl, urlencode

FIRST = {"v": "1", "step": "0", "n": "5", "eps": "0.1", "kind": "a", "on": "1", "sel": "", "bad": ""}
ROWS, FEATURES = ("0.0", "0.1"), 3
FEEDS = '{"x":{"row":["mu"],"cell":["y"]},"mu":{"cell":["y"]},"gamma":{"cell":["y"]}}'

State = dict[str, str]


def respond(path: str, query: str, sources: object = None) -> tuple[int, str, str]:
    pairs = parse_qsl(query, keep_blank_values=True)
    given = dict(pairs)
    if path != "/fake":
        return 404, "text/html; charset=utf-8", "<h1>Not here</h1>"
    if "crash" in given:
        raise ValueError("the fake was asked to crash")
    new = applied(base(pairs), [value for key, value in pairs if key == "do"])
    if "patch" not in given:
        return 200, "text/html; charset=utf-8", page(new)
    before = regions(base(parse_qsl(given["patch"], keep_blank_values=True) if given["patch"] else pairs))
    changed = [html for name, html in regions(new).items() if before.get(name) != html]
    if before.keys() != regions(new).keys():
        changed = [main(new)]
    pieces = "".join(f"<template>{html}</template>" for html in changed)
    return 200, "text/html; charset=utf-8", f"{canonical(new)}\n{pieces}"


def base(pairs: list[tuple[str, str]]) -> State:
    return FIRST | {key: value for key, value in pairs if key not in ("do", "patch")}


def applied(state: State, actions: list[str]) -> State:
    for action in actions:
        field, _, value = action.partition(":")
        if field == "undo":
            state = state | {"n": str(int(state["n"]) - 1)}
        elif field == "eps" and not value.replace(".", "").isdigit():
            state = state | {"bad": value}
        else:
            state = state | {"bad": "", field: value}
    return state


def canonical(state: State) -> str:
    return urlencode({key: value for key, value in state.items() if key == "v" or FIRST.get(key) != value})


def page(state: State) -> str:
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Fake</title>
<link rel="icon" href="data:,"><script src="/static/theme.js"></script><script src="/static/lab.js" defer></script>
</head><body><button data-theme-toggle>theme</button>{main(state)}
<p id="offline" role="alert" hidden></p><div id="live" role="status" aria-live="polite"></div></body></html>"""


def main(state: State) -> str:
    inner = "".join(regions(state).values())
    return f"<main id='main' data-query='{escape(canonical(state))}' data-feeds='{FEEDS}'><h1>Fake</h1>{inner}</main>"


def regions(state: State) -> dict[str, str]:
    drawn = {"fields": fields(state), "stage": stage(state)}
    if state["step"] == "2":
        drawn["extra"] = "<p id='extra'>only in the last step</p>"
    return drawn | {"say": f"<p id='say' hidden>step {state['step']}, n is {state['n']}</p>"}


def fields(state: State) -> str:
    n, eps, step = state["n"], escape(state["eps"]), int(state["step"])
    bad = f"<p>{escape(state['bad'])} is no number</p>" if state["bad"] else ""
    chosen = {kind: "selected" if kind == state["kind"] else "" for kind in "ab"}
    return f"""<section id="fields">{bad}
<label>n <input id="n" type="range" min="0" max="99" value="{n}" data-do="n" data-pair="n"></label>
<label>n, exactly <input id="n2" type="number" value="{n}" data-do="n" data-pair="n"></label>
<label>eps <input id="eps" value="{eps}" data-do="eps"></label>
<label>kind <select id="kind" data-do="kind">
<option {chosen["a"]}>a</option><option {chosen["b"]}>b</option></select></label>
<label>on <input id="on" type="checkbox" data-do="on" {"checked" if state["on"] == "1" else ""}></label>
<label>step <input id="step" type="range" min="0" max="2" value="{step}" data-do="step"></label>
<button id="back" data-bump="step" data-by="-1">back</button>
<button id="next" data-bump="step" data-by="1">next</button>
<button id="last" data-bump="step" data-by="max">last</button>
<button id="play" data-play="step" aria-pressed="false">play</button>
<button id="undo" data-do="undo" {"aria-disabled='true'" if n == "0" else ""}>undo</button>
<a id="go" href="?do=n%3A42" data-do="n:42">42</a>
<a id="link" href="/fake?{escape(canonical(state))}">link</a><button id="copy" data-copy="link">copy</button>
<details id="more"><summary>more</summary>n is {n}</details></section>"""


def stage(state: State) -> str:
    grids = [grid(state, "x", ROWS, FEATURES, "data-edit"), grid(state, "mu", ROWS, 1, "")]
    grids += [grid(state, "gamma", ("*",), FEATURES, ""), grid(state, "y", ROWS, FEATURES, "")]
    return f"<section id='stage'>{''.join(grids)}</section>"


def grid(state: State, name: str, rows: tuple[str, ...], count: int, kind: str) -> str:
    names = {row: [f"{name}.{row}.{k}".replace(".*", "") for k in range(count)] for row in rows}
    everything = [cell for row in names.values() for cell in row]
    stop = state["sel"] if state["sel"] in everything else everything[0]
    body = ""
    for row, cells in names.items():
        body += f"<tr data-row='{row}'><th scope='row'>{row}</th>"
        for cell in cells:
            tab = " tabindex='0'" if cell == stop else ""
            selected = " aria-selected='true'" if cell == state["sel"] else ""
            body += f"<td{tab}{selected}>{escape(state.get(cell, '1'))}</td>"
    return f"<table role='grid' aria-label='{name}' data-t='{name}' {kind}>{body}</table>"
