"""Chat models: naming, building and calling them."""

from agents.models.build import build, installed, ready
from agents.models.chains import LIGHT, Chains, Role
from agents.models.error_mapping.classify import classify
from agents.models.error_mapping.describe import too_long
from agents.models.errors import (
    ContextExceeded,
    ModelError,
    ModelNameInvalid,
    ModelNotConfigured,
    ModelRefused,
    ModelUnavailable,
    RecordingMismatch,
    ReplyMalformed,
    another_may_answer,
)
from agents.models.listener import LISTENER, Listener, listened_by
from agents.models.name import ModelName
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.provider import ProviderModel
from agents.models.providers import PROVIDERS, Provider
from agents.models.replies.ending import MALFORMED, cut_off, malformed
from agents.models.replies.structured import Answer, ask, read
from agents.models.retry import RetryPolicy
from agents.models.streams import Chunk
from agents.recordings.dump import dump_turn, record_turn
from agents.recordings.recorded_model import RecordedModel
from agents.recordings.recording import load
from agents.recordings.redaction import Redaction
from agents.spending.billed import may_be_billed
from agents.spending.pricing import OperatorPrice, Prices, Usage
from agents.spending.spend_guard import guarded
from agents.spending.usage_bound import ANSWERED_BY

__all__ = [
    "ANSWERED_BY",
    "LIGHT",
    "LISTENER",
    "MALFORMED",
    "PROVIDERS",
    "Answer",
    "Chains",
    "Chunk",
    "ContextExceeded",
    "Listener",
    "ModelError",
    "ModelName",
    "ModelNameInvalid",
    "ModelNotConfigured",
    "ModelOptions",
    "ModelPool",
    "ModelRefused",
    "ModelUnavailable",
    "OperatorPrice",
    "Prices",
    "Provider",
    "ProviderModel",
    "RecordedModel",
    "RecordingMismatch",
    "Redaction",
    "ReplyMalformed",
    "RetryPolicy",
    "Role",
    "Usage",
    "another_may_answer",
    "ask",
    "build",
    "classify",
    "cut_off",
    "dump_turn",
    "guarded",
    "installed",
    "listened_by",
    "load",
    "malformed",
    "may_be_billed",
    "read",
    "ready",
    "record_turn",
    "too_long",
]
