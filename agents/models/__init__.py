"""Chat models: naming, building, asking and pricing them, and playing recordings."""

from agents.models.billed import may_be_billed
from agents.models.bound import ANSWERED_BY
from agents.models.build import build, installed, ready
from agents.models.chains import Chains
from agents.models.classify import classify
from agents.models.ending import MALFORMED, cut_off, malformed
from agents.models.errors import (
    ContextExceeded,
    ModelError,
    ModelNameInvalid,
    ModelNotConfigured,
    ModelRefused,
    ModelUnavailable,
    RecordingDeparted,
    ReplyMalformed,
    another_may_answer,
)
from agents.models.listener import LISTENER, Listener, heard_by
from agents.models.name import ModelName
from agents.models.options import SHIPPED_RECORDINGS, ModelOptions
from agents.models.patience import Patience
from agents.models.pool import ModelPool
from agents.models.pricing import OwnPrice, Prices, Usage, price
from agents.models.provider import ProviderModel
from agents.models.providers import PROVIDERS, Provider
from agents.models.recorded import RecordedModel
from agents.models.recording import Recording, load
from agents.models.redaction import Redaction
from agents.models.role import LIGHT, Role
from agents.models.structured import Answer, ask, read
from agents.models.toll import Toll, tolled
from agents.models.wires import Piece
from agents.models.wording import too_long
from agents.models.written import turn_of, written

__all__ = [
    "ANSWERED_BY",
    "LIGHT",
    "LISTENER",
    "MALFORMED",
    "PROVIDERS",
    "SHIPPED_RECORDINGS",
    "Answer",
    "Chains",
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
    "OwnPrice",
    "Patience",
    "Piece",
    "Prices",
    "Provider",
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
    "heard_by",
    "installed",
    "load",
    "malformed",
    "may_be_billed",
    "price",
    "read",
    "ready",
    "tolled",
    "too_long",
    "turn_of",
    "written",
]
