"""Numbers in a .csv file."""

from pathlib import Path

from ..csv_table import Refuse, Table, parse

LIMIT = 128 * 2**20  # bytes; beyond it text is the wrong form
WAY_OUT = ", or say --decimal-comma (decimal_comma=True)"


def read_table(path: Path, refuse: Refuse, decimal_comma: bool = False) -> Table:
    """The rows of numbers in a .csv file and its token names, as `csv_table.parse` finds them.

    `refuse(reason)` raises the FileError.
    """
    size = path.stat().st_size
    if size > LIMIT:
        refuse(f"it has {size:,} bytes; a .csv file may have {LIMIT:,}. Save it as .npy with numpy.save.")
    return parse(_text(path, refuse), refuse, decimal_comma, WAY_OUT)


def _text(path: Path, refuse: Refuse) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        refuse(f"it is not UTF-8 text (byte {error.start + 1}); save it as 'CSV UTF-8'.")
