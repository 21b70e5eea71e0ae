"""The class of a failure by the type of its exception. Pure.

A builtin is classified by its bases, a library's exception by its name. Nothing is imported.
"""

from __future__ import annotations

import builtins
import errno
import re

from agents.failures.failure import FailureClass
from agents.failures.tracebacks import Raised

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
"""The first base that matches."""

_BY_NAME: dict[str, FailureClass] = {
    name: kind
    for kind, names in {
        FailureClass.TYPE: "UFuncTypeError _UFuncNoLoopError _UFuncBinaryResolutionError",
        FailureClass.NAME: "FrozenInstanceError UndefinedVariableError",
        FailureClass.KEY: "NoSectionError NoOptionError ZoneInfoNotFoundError InvalidIndexError",
        FailureClass.VALUE: "JSONDecodeError TOMLDecodeError StatisticsError InvalidOperation "
        "ParseError ExpatError UnpicklingError BadZipFile struct.error re.error zlib.error "
        "binascii.Error _csv.Error LinAlgError AxisError ParserError EmptyDataError MergeError",
        FailureClass.FILE: "UnsupportedOperation SameFileError shutil.Error",
        FailureClass.ZERO_DIVISION: "DivisionByZero DivisionUndefined",
        FailureClass.TIMEOUT: "TimeoutExpired",
        FailureClass.MEMORY: "_ArrayMemoryError",
        FailureClass.NETWORK_DENIED: "gaierror herror URLError HTTPError RemoteDisconnected "
        "SSLError ConnectTimeout ConnectError NewConnectionError MaxRetryError",
    }.items()
    for name in names.split()
}
"""Of the standard library, numpy, pandas and HTTP clients; with the module if the name alone is too
common."""

_ERRNO = re.compile(r"^\[Errno (-?\d{1,9})\]")
_BY_ERRNO: dict[int, FailureClass] = {
    **dict.fromkeys((errno.ENOSPC, errno.EFBIG, errno.EDQUOT), FailureClass.OUTPUT_FLOOD),
    **dict.fromkeys((errno.ENETUNREACH, errno.EHOSTUNREACH), FailureClass.NETWORK_DENIED),
    errno.ENOMEM: FailureClass.MEMORY,
    errno.EAGAIN: FailureClass.UNKNOWN,  # no more processes: no file's fault
    errno.EPIPE: FailureClass.UNKNOWN,  # the reader of its output has ended: `| head`
}


def kind_of(raised: Raised) -> FailureClass:
    """The class of failure of an exception; UNKNOWN if its type does not say."""
    last = raised.name.rpartition(".")[2]
    if kind := _BY_NAME.get(raised.name) or _BY_NAME.get(last):
        return kind
    base = getattr(builtins, last, None)
    if not (isinstance(base, type) and issubclass(base, BaseException)):
        return FailureClass.UNKNOWN
    number = _ERRNO.match(raised.message) if issubclass(base, OSError) else None
    if number and (kind := _BY_ERRNO.get(int(number[1]))):
        return kind
    found = (kind for builtin, kind in _BY_BUILTIN if issubclass(base, builtin))
    return next(found, FailureClass.UNKNOWN)
