"""Why a graph ends early. An infrastructure error is never shown to the model as its own failure.

AgentsError
  +-- Stopped            cancelled, or the attempt lost its lease: stop, write nothing
  +-- BudgetExhausted    the job may not spend more
  |   +-- PriceUnknown   the limit is in money, and the model's price is unknown
  +-- StateUnreadable    a checkpoint or journal entry cannot be read: a person decides
  +-- ToolRefused        a tool cannot do what the model asked; the model reads its text
        +-- PathOutside  a path that no workspace can hold
  +-- models.errors.ModelError ...   see there
"""

from __future__ import annotations


class AgentsError(Exception):
    """The root of this package's errors."""


class Stopped(AgentsError):
    """No new call may start for this job in this process."""


class BudgetExhausted(AgentsError):
    """The job's budget is used up."""


class PriceUnknown(BudgetExhausted):
    """A cost limit cannot be enforced for a model without a known price."""


class StateUnreadable(AgentsError):
    """Stored bytes of a job are damaged, or hold a type that Fettle does not read. The text names
    the place and the cause."""


class ToolRefused(AgentsError):
    """A tool cannot do what the model asked. The model reads the text: short, with what to do."""


class PathOutside(ToolRefused):
    """A path that could leave the workspace, or that it cannot hold."""
