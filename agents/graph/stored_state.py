"""Stored values of the graph's channels: they must have the types that `State` declares.

Nodes trust these types. Without the check, damaged bytes that are plain data make a node fail, and
the job with it, or change the work of the job.

See ADR 60.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, get_type_hints

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from pydantic import InstanceOf, TypeAdapter, ValidationError

from agents.errors import StateUnreadable, describe_validation
from agents.state import State


def check_value(channel: str, value: Any) -> None:
    """Raise StateUnreadable for a value that the channel's type does not have. Channels that
    LangGraph adds are not checked."""
    if (adapter := _adapters().get(channel)) is None:
        return
    plain = value.value if isinstance(value, _DeltaSnapshot) else value
    try:
        adapter.validate_python(plain, strict=True)
    except ValidationError as error:
        raise StateUnreadable(f"{channel}: {describe_validation(error)}") from None


@cache
def _adapters() -> Mapping[str, TypeAdapter[Any]]:
    """The adapters, by the name of the channel."""
    types = {**get_type_hints(State), "messages": list[InstanceOf[BaseMessage]]}
    return {channel: TypeAdapter(type_) for channel, type_ in types.items()}
