"""Chat models: naming, building, asking and pricing them, and playing recordings."""

from agents.models.billed import may_be_billed
from agents.models.build import build
from agents.models.chains import Chains
from agents.models.classify import classify
from agents.models.ending import cut_off, malformed
from agents.models.errors import (
    ModelError,
    ModelNameInvalid,
    ModelNotConfigured,
    ModelRefused,
    ModelUnavailable,
    RecordingDeparted,
    ReplyMalformed,
    another_may_answer,
)
from agents.models.name import ModelName
from agents.models.options import KEY_VARIABLES, PUBLIC_URLS, SHIPPED_RECORDINGS, ModelOptions
from agents.models.pool import ModelPool
from agents.models.pricing import OwnPrice, Prices, Usage, price
from agents.models.provider import ProviderModel
from agents.models.recorded import RecordedModel
from agents.models.recording import Recording, load
from agents.models.redaction import Redaction
from agents.models.role import LIGHT, Role
from agents.models.structured import Answer, ask, read
from agents.models.toll import Toll, tolled
from agents.models.written import turn_of, written

__all__ = [
    "KEY_VARIABLES",
    "LIGHT",
    "PUBLIC_URLS",
    "SHIPPED_RECORDINGS",
    "Answer",
    "Chains",
    "ModelError",
    "ModelName",
    "ModelNameInvalid",
    "ModelNotConfigured",
    "ModelOptions",
    "ModelPool",
    "ModelRefused",
    "ModelUnavailable",
    "OwnPrice",
    "Prices",
    "ProviderModel",
    "RecordedModel",
    "Recording",
    "RecordingDeparted",
    "Redaction",
    "ReplyMalformed",
    "Role",
    "Toll",
    "Usage",
    "another_may_answer",
    "ask",
    "build",
    "classify",
    "cut_off",
    "load",
    "malformed",
    "may_be_billed",
    "price",
    "read",
    "tolled",
    "turn_of",
    "written",
]
