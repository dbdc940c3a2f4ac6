"""What can go wrong, and what each message must say: the argument, the axes, the sizes, the fix."""


class NormscopeError(Exception):
    """Any mistake in what Normscope was given.

    `exit_code` is what the command line returns for it: 2 for a wrong request, 3 for unreadable input.
    """

    exit_code = 2


class PatternError(NormscopeError, ValueError):
    """A pattern such as `"B S [d]"` that cannot be read, or that does not fit the rank of the input."""


class NormError(NormscopeError, ValueError):
    """A field of a `Norm` that no norm can have, such as a negative eps."""


class ShapeError(NormscopeError, ValueError):
    """Sizes that do not fit together."""


class DtypeError(NormscopeError, TypeError):
    """A dtype that cannot be normalized, such as object or complex."""


class ProgramError(NormscopeError, ValueError):
    """A program that is not straight-line code over the closed set of ops."""


class ExactError(NormscopeError, ValueError):
    """A number that cannot be read exactly, or digits that cannot be had."""


class ImplementationError(NormscopeError, ValueError):
    """Something to check that is not there, or that is no function."""


class FileError(NormscopeError, OSError):
    """A file that is missing, unreadable, unsafe or too large."""

    exit_code = 3


class StateError(NormscopeError, ValueError):
    """A page address whose state cannot be read."""
