"""Why a graph ends early. Infrastructure trouble is never shown to the model as its own failure.

AgentsError
  +-- Stopped            cancelled, or the attempt lost its lease: leave, write nothing
  +-- BudgetExhausted    nothing more may be spent
  |   +-- PriceUnknown   money is limited, and nobody knows what the model costs
  +-- ToolRefused        a tool cannot do what it was asked; its words go to the model
        +-- PathOutside  a path that no workspace can hold
  +-- models.errors.ModelError ...   see there
"""

from __future__ import annotations


class AgentsError(Exception):
    """The root of this package's errors."""


class Stopped(AgentsError):
    """No new call may start for this job in this process."""


class BudgetExhausted(AgentsError):
    """The job has spent what it may."""


class PriceUnknown(BudgetExhausted):
    """A cost limit cannot be kept with a model whose price is not known."""


class ToolRefused(AgentsError):
    """A tool cannot do what it was asked. Its text is for the model: short, and what to do."""


class PathOutside(ToolRefused):
    """A path that could leave the workspace, or that it cannot hold."""
