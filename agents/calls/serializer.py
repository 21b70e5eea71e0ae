"""Serializer: the values of checkpoints and journal entries as bytes, and back.

The bytes come from Redis, so any program may have written them, and they are only data. The format
is LangGraph's: MessagePack, with extensions that name a class by module and name, and have its
arguments. LangGraph's own serializer imports any name and calls it. With an allow-list, it puts the
arguments in the place of a value of another class, and the job continues with the wrong state. This
serializer imports nothing, builds only the classes below, and raises for everything else.

Some valid JSON has no form in MessagePack: integers beyond 64 bits, half surrogate pairs in names,
hundreds of levels of nesting. `make_serializable` replaces such values in a reply.

See ADR 60.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import ormsgpack
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Interrupt, Send

from agents.errors import StateUnreadable
from agents.models.replies.ending import MALFORMED

_POSITIONAL, _KEYWORDS, _MESSAGE, _SNAPSHOT = 1, 2, 5, 7
"""The codes of LangGraph's extensions that Fettle's values need.

The content of an extension is (module, name, arguments); a message may have one more item, which is
ignored. The content of a snapshot is the value itself.
"""

Stored = tuple[str, bytes]
"""A serialized value: the name of its format, and its bytes."""


ALLOWED: Final[Mapping[int, Sequence[type]]] = {
    _POSITIONAL: (Send,),
    _KEYWORDS: (Interrupt,),
    _MESSAGE: (AIMessage, HumanMessage, SystemMessage, ToolMessage),
}
"""Every class that Fettle stores, by extension."""

_SHOWN = 100
"""The most characters of a name in an error."""
_PAIR, _END_TEXT = b"\x92", "end of value"
_END: Final = ormsgpack.packb(_END_TEXT)
_INTERRUPT: Final = ("value", "id", "response_schema")
_PACKS: Final = (
    ormsgpack.OPT_NON_STR_KEYS
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_UUID
    | ormsgpack.OPT_REPLACE_SURROGATES
)


class Serializer:
    """A serializer as LangGraph's savers take it (`SerializerProtocol`).

    It writes no value that it does not read: `dumps_typed` raises TypeError for other classes.
    """

    def dumps_typed(self, obj: Any) -> Stored:
        """Raises TypeError for a value of a class that is not on the list."""
        match obj:
            case None:
                return "null", b""
            case bytes() | bytearray():
                return type(obj).__name__, bytes(obj)
            case _:
                return "msgpack", _pack(obj)

    def loads_typed(self, data: Stored) -> Any:
        """Raises StateUnreadable for another format, damaged bytes, and classes that are not on the
        list. It calls no code that the bytes name."""
        format_name, content = data
        match format_name:
            case "null":
                return None
            case "bytes":
                return content
            case "bytearray":
                return bytearray(content)
            case "msgpack":
                return _Unpacking().unpack(content)
            case _:
                raise StateUnreadable(f"unknown format {format_name[:_SHOWN]!r}")


class _Unpacking:
    """Unpacks one value. MessagePack's library drops the error of its hook, so this keeps it."""

    def __init__(self) -> None:
        self._refusal: Exception | None = None

    def unpack(self, content: bytes) -> Any:
        try:
            return self._nested(content)
        except Exception as error:  # noqa: BLE001 - damaged bytes may raise any
            cause = self._refusal or error
            if isinstance(cause, StateUnreadable):
                raise cause from None
            raise StateUnreadable(f"{type(cause).__name__}: {cause}") from cause

    def _nested(self, content: bytes) -> Any:
        """One value. The library ignores bytes after it, so that damaged bytes may look like a
        short value: the end of a pair shows that the value has used all bytes."""
        value, end = ormsgpack.unpackb(
            _PAIR + content + _END, ext_hook=self._extension, option=ormsgpack.OPT_NON_STR_KEYS
        )
        if end != _END_TEXT:
            raise StateUnreadable("bytes follow the value")
        return value

    def _extension(self, code: int, content: bytes) -> Any:
        try:
            return self._build(code, self._nested(content))
        except Exception as error:
            self._refusal = self._refusal or error
            raise

    def _build(self, code: int, content: Any) -> Any:
        if code == _SNAPSHOT:
            return _DeltaSnapshot(content)
        match content:
            case [str(module), str(name), arguments, *_]:
                for class_ in ALLOWED.get(code, ()):
                    if (module, name) == (class_.__module__, class_.__name__):
                        return class_(*arguments) if code == _POSITIONAL else class_(**arguments)
                type_name = f"{module}.{name}"[:_SHOWN]
                raise StateUnreadable(f"type {type_name} is not allowed (extension {code})")
        raise StateUnreadable(f"extension {code} is not allowed")


def _pack(value: Any) -> bytes:
    return ormsgpack.packb(value, default=_extension_of, option=_PACKS)


def _extension_of(value: Any) -> str | ormsgpack.Ext:
    """A value that MessagePack has no form for."""
    arguments: Mapping[str, Any] | Sequence[Any]
    match value:
        case _DeltaSnapshot():
            return ormsgpack.Ext(_SNAPSHOT, _pack(value.value))
        case BaseMessage():
            code, arguments = _MESSAGE, value.model_dump()
        case Send(timeout=None):
            code, arguments = _POSITIONAL, (value.node, value.arg)
        case Interrupt():
            code, arguments = _KEYWORDS, {name: getattr(value, name) for name in _INTERRUPT}
        case BaseException():  # a note of LangGraph about a task that failed; it is not read
            return repr(value)
        case _:
            raise TypeError(f"values of type {type(value).__name__} cannot be stored")
    class_ = type(value)
    if class_ not in ALLOWED[code]:
        raise TypeError(f"values of type {class_.__name__} cannot be stored")
    return ormsgpack.Ext(code, _pack((class_.__module__, class_.__name__, arguments)))


SERIALIZER: Final = Serializer()
"""It has no state."""


UNSERIALIZABLE = "an integer beyond 64 bits, a name that is not valid text, or hundreds of levels"


def make_serializable(message: AIMessage) -> AIMessage:
    """`message`; if `SERIALIZER` cannot write it, then as plain text, with unserializable calls
    marked as malformed, and without any other values that cannot be written."""
    if _fits(message):
        return message
    calls = [
        call if _fits(call["args"]) else {**call, "args": {MALFORMED: UNSERIALIZABLE}}
        for call in message.tool_calls
    ]
    metadata = {key: value for key, value in message.response_metadata.items() if _fits(value)}
    fields = {key: value for key, value in message.additional_kwargs.items() if _fits(value)}
    usage = message.usage_metadata if _fits(message.usage_metadata) else None
    return message.model_copy(
        update={
            "tool_calls": calls,
            "content": str(message.text),  # Anthropic's replies list their calls in it, too
            "response_metadata": metadata,
            "additional_kwargs": fields,
            "usage_metadata": usage,
        }
    )


def _fits(value: Any) -> bool:
    try:
        SERIALIZER.dumps_typed(value)
    except TypeError:
        return False
    return True
