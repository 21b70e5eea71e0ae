"""A saver's synchronous half, refused in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(
        f"this checkpoint saver is asynchronous: await a{name}() instead of calling {name}(), "
        "and run the graph with ainvoke() or astream()"
    )


class AsyncOnlySaver(BaseCheckpointSaver[str]):
    """Base of savers that can only be awaited: each synchronous method raises RuntimeError."""

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:  # noqa: ARG002
        _refuse("get_tuple")

    def list(
        self,
        config: RunnableConfig | None,  # noqa: ARG002
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002, ARG002
        before: RunnableConfig | None = None,  # noqa: ARG002
        limit: int | None = None,  # noqa: ARG002
    ) -> Iterator[CheckpointTuple]:
        _refuse("list")

    def put(
        self,
        config: RunnableConfig,  # noqa: ARG002
        checkpoint: Checkpoint,  # noqa: ARG002
        metadata: CheckpointMetadata,  # noqa: ARG002
        new_versions: ChannelVersions,  # noqa: ARG002
    ) -> RunnableConfig:
        _refuse("put")

    def put_writes(
        self,
        config: RunnableConfig,  # noqa: ARG002
        writes: Sequence[tuple[str, Any]],  # noqa: ARG002
        task_id: str,  # noqa: ARG002
        task_path: str = "",  # noqa: ARG002
    ) -> None:
        _refuse("put_writes")

    def delete_thread(self, thread_id: str) -> None:  # noqa: ARG002
        _refuse("delete_thread")

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:  # noqa: ARG002
        _refuse("delete_for_runs")

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:  # noqa: ARG002
        _refuse("copy_thread")

    def prune(
        self,
        thread_ids: Sequence[str],  # noqa: ARG002
        *,
        strategy: str = "keep_latest",  # noqa: ARG002
    ) -> None:
        _refuse("prune")

    def get_delta_channel_history(
        self,
        *,
        config: RunnableConfig,  # noqa: ARG002
        channels: Sequence[str],  # noqa: ARG002
    ) -> Mapping[str, DeltaChannelHistory]:
        _refuse("get_delta_channel_history")
