"""Fields that several bodies have."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from api.schemas import patterns

Label = Annotated[str, Field(pattern=patterns.LABEL)]
