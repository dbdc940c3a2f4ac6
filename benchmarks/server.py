"""What one server process answers."""

import time
from collections.abc import Iterator
from http.client import HTTPConnection
from urllib.parse import urlsplit

from .serving import random_paths, served
from .table import Figure

PAGES = 400


def figures() -> Iterator[Figure]:
    with served() as address:
        yield pages_a_second(address)


def pages_a_second(address: str) -> Figure:
    connection = HTTPConnection(urlsplit(address).netloc)
    headers = {"Accept-Encoding": "gzip"}

    def get(path: str) -> None:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path} gave {answer.status}")

    warm, *paths = random_paths(PAGES + 1)
    get(warm)
    started = time.perf_counter()
    for path in paths:
        get(path)
    rate = PAGES / (time.perf_counter() - started)
    connection.close()
    return Figure("full pages for random states, one server process", rate, "/s", 100, 100, more=True)
