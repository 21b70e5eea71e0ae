"""From the type of an exception to the class of the failure. Pure.

By what the type is, not by how it is called: a builtin by its bases, a library's by the builtin
that it derives from, the program's own by the `class` statement in its source. Nothing is imported.
"""

from __future__ import annotations

import builtins
import errno
import re
from collections.abc import Mapping

from agents.failures.failure import FailureClass
from agents.failures.tracebacks import Raised

Sources = Mapping[str, bytes]
"""The program's sources by path; where its own exceptions are defined."""

_BY_BUILTIN: tuple[tuple[type[BaseException], FailureClass], ...] = (
    (SyntaxError, FailureClass.SYNTAX),
    (ImportError, FailureClass.IMPORT),
    (TypeError, FailureClass.TYPE),
    (NameError, FailureClass.NAME),
    (AttributeError, FailureClass.NAME),
    (LookupError, FailureClass.KEY),
    (ValueError, FailureClass.VALUE),
    (AssertionError, FailureClass.ASSERTION),
    (RecursionError, FailureClass.RECURSION),
    (ZeroDivisionError, FailureClass.ZERO_DIVISION),
    (ArithmeticError, FailureClass.VALUE),
    (MemoryError, FailureClass.MEMORY),
    (TimeoutError, FailureClass.TIMEOUT),
    (ConnectionError, FailureClass.NETWORK_DENIED),
    (OSError, FailureClass.FILE),
)
"""The first that the type derives from."""

_LIBRARY: dict[str, type[BaseException]] = {
    # the standard library's
    "JSONDecodeError": ValueError,
    "StatisticsError": ValueError,
    "TOMLDecodeError": ValueError,
    "CycleError": ValueError,
    "InvalidOperation": ValueError,  # decimal: an ArithmeticError
    "PatternError": ValueError,
    "ParseError": ValueError,  # ElementTree: a SyntaxError, but of the data
    "ExpatError": ValueError,
    "UnpicklingError": ValueError,
    "BadZipFile": ValueError,
    "AddressValueError": ValueError,
    "NetmaskValueError": ValueError,
    "struct.error": ValueError,
    "re.error": ValueError,
    "zlib.error": ValueError,
    "binascii.Error": ValueError,
    "_csv.Error": ValueError,
    "DivisionByZero": ZeroDivisionError,
    "DivisionUndefined": ZeroDivisionError,
    "NoSectionError": KeyError,
    "NoOptionError": KeyError,
    "ZoneInfoNotFoundError": KeyError,
    "FrozenInstanceError": AttributeError,
    "SameFileError": OSError,
    "UnsupportedOperation": OSError,
    "shutil.Error": OSError,
    "TimeoutExpired": TimeoutError,
    "gaierror": ConnectionError,
    "herror": ConnectionError,
    "URLError": ConnectionError,
    "HTTPError": ConnectionError,
    "RemoteDisconnected": ConnectionError,
    "SSLError": ConnectionError,
    # numpy's and pandas'
    "_ArrayMemoryError": MemoryError,
    "AxisError": ValueError,
    "LinAlgError": ValueError,
    "UFuncTypeError": TypeError,
    "_UFuncNoLoopError": TypeError,
    "_UFuncBinaryResolutionError": TypeError,
    "_UFuncInputCastingError": TypeError,
    "_UFuncOutputCastingError": TypeError,
    "ParserError": ValueError,
    "EmptyDataError": ValueError,
    "MergeError": ValueError,
    "IntCastingNaNError": ValueError,
    "OutOfBoundsDatetime": ValueError,
    "InvalidIndexError": IndexError,
    "IndexingError": IndexError,
    "UndefinedVariableError": NameError,
    # HTTP clients'
    "ConnectTimeout": ConnectionError,
    "ConnectError": ConnectionError,
    "NewConnectionError": ConnectionError,
    "MaxRetryError": ConnectionError,
    "ClientConnectorError": ConnectionError,
}
"""By name, with the module where the name alone is too common."""

_ERRNO = re.compile(r"^(?:<urlopen error )?\[Errno (-?\d{1,9})\]")
_BY_ERRNO: dict[int, FailureClass] = {
    errno.ENOSPC: FailureClass.OUTPUT_FLOOD,
    errno.EFBIG: FailureClass.OUTPUT_FLOOD,
    errno.EDQUOT: FailureClass.OUTPUT_FLOOD,
    errno.ENOMEM: FailureClass.MEMORY,
    errno.ENETUNREACH: FailureClass.NETWORK_DENIED,
    errno.EHOSTUNREACH: FailureClass.NETWORK_DENIED,
    errno.ENETDOWN: FailureClass.NETWORK_DENIED,
    errno.ETIMEDOUT: FailureClass.NETWORK_DENIED,  # a connection's; TimeoutError alone has none
    errno.EAGAIN: FailureClass.UNKNOWN,  # no more processes: no file's fault
    errno.EMFILE: FailureClass.FILE,
    errno.EPIPE: FailureClass.UNKNOWN,  # whoever read its output has ended: `| head`
}

_NUMPY_DIVIDES = "divide by zero encountered"
"""numpy's words, where it was told to raise what else it only warns of."""

_CLASS = re.compile(r"^[ \t]*class[ \t]+(\w+)[ \t]*\(([^()]{0,300})\)", re.MULTILINE)
_MOST_SOURCE = 512 * 1024
_DEEPEST = 8
_SOCKET = re.compile(r"(?:^|/)socket\.py$")


def kind_of(raised: Raised, sources: Sources) -> FailureClass:
    """The class of failure that an exception stands for; UNKNOWN where its type says nothing.

    Of a group that of its first exception whose type says something; of a type that says nothing
    that of the exception for which it was raised.
    """
    if raised.leaves:
        kinds = [kind_of(leaf, sources) for leaf in raised.leaves]
        return next((kind for kind in kinds if kind is not FailureClass.UNKNOWN), kinds[0])
    base = builtin_base(raised.name, sources)
    kind = _of_builtin(base, raised) if base else FailureClass.UNKNOWN
    if kind is FailureClass.UNKNOWN and raised.before is not None:
        return kind_of(raised.before, sources)
    return kind


def builtin_base(name: str, sources: Sources) -> type[BaseException] | None:
    """The builtin exception that `name` is or derives from, as far as one can tell."""
    module, _, last = name.rpartition(".")
    own = not module or _is_own(module.partition(".")[0], sources)
    return (_defined(last, _bases(sources), _DEEPEST) if own else None) or _known(name)


def _is_own(top: str, sources: Sources) -> bool:
    return any(path == f"{top}.py" or path.startswith(f"{top}/") for path in sources)


def _of_builtin(base: type[BaseException], raised: Raised) -> FailureClass:
    of_numpy = issubclass(base, FloatingPointError | RuntimeWarning)
    if of_numpy and raised.message.startswith(_NUMPY_DIVIDES):
        return FailureClass.ZERO_DIVISION
    if issubclass(base, OSError):
        number = _ERRNO.match(raised.message)
        if number and (kind := _BY_ERRNO.get(int(number[1]))):
            return kind
        if issubclass(base, TimeoutError | PermissionError) and _in_socket(raised):
            return FailureClass.NETWORK_DENIED
    found = (kind for builtin, kind in _BY_BUILTIN if issubclass(base, builtin))
    return next(found, FailureClass.UNKNOWN)


def _in_socket(raised: Raised) -> bool:
    return any(_SOCKET.search(frame.file) for frame in raised.frames)


def _known(name: str) -> type[BaseException] | None:
    """A builtin, or a library's of which we know the base."""
    last = name.rpartition(".")[2]
    if found := _LIBRARY.get(name):
        return found
    builtin = getattr(builtins, last, None)
    if isinstance(builtin, type) and issubclass(builtin, BaseException):
        return builtin
    return _LIBRARY.get(last)


def _bases(sources: Sources) -> dict[str, list[str]]:
    """The bases of each class in the sources, by its last name.

    By a pattern, not by `ast`: a program that is made for it can crash CPython's parser.
    """
    bases: dict[str, list[str]] = {}
    left = _MOST_SOURCE
    for path, content in sources.items():
        if not path.endswith(".py") or len(content) > left:
            continue
        left -= len(content)
        for name, given in _CLASS.findall(content.decode(errors="replace")):
            plain = [base.strip() for base in given.split(",") if "=" not in base]
            bases.setdefault(name, []).extend(filter(None, plain))
    return bases


def _defined(name: str, bases: Mapping[str, list[str]], depth: int) -> type[BaseException] | None:
    """The builtin behind a class of the program's own: the first of its bases that has one."""
    for base in bases.get(name, ()) if depth else ():
        last = base.rpartition(".")[2]
        if found := _defined(last, bases, depth - 1) or _known(base):
            return found
    return None
