"""PerJob: stands where LangChain's agent wants a model before any job has named one."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from typing_extensions import override


class PerJob(BaseChatModel):
    """The agent is compiled once a process; `ModelCalls` puts each job's model in its place.

    Raises RuntimeError when it is asked itself: the middleware is missing.
    """

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise RuntimeError("a job's model is put in place by agents.middleware.models.ModelCalls")

    @property
    def _llm_type(self) -> str:
        return "fettle-per-job"
