"""The data of each kind of event. The only declaration of them.

`LIFE` has the events of the job's own life, and `WORK` the events of work done. A field that may be
missing (`NotRequired`) belongs to some jobs only, or Fettle 0.1.0 did not write it. The description
of the HTTP API comes from these declarations, and tests compare the events of real workers with
them.

Steps that run in parallel are branches: their messages_read, model_called, run_finished, repaired
and tool_used have `step`, the number of the step in the plan. Numbers of runs are unique. Gaps
remain if a branch has made fewer runs than another.

See ADR 33.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.model import run_data
from jobs.model.event_data import (
    benchmarks,
    evidence,
    lifecycle,
    model_calls,
    plans,
    repositories,
    reviews,
    work,
)

Data = Mapping[str, type[Any]]
WORK: Data = {
    "routed": model_calls.RoutedData,
    "asked": plans.AskedData,
    "tests_written": evidence.TestsWrittenData,
    "planned": plans.PlannedData,
    "messages_read": model_calls.MessagesReadData,
    "model_called": model_calls.ModelCalledData,
    "run_finished": run_data.RunData,
    "repaired": work.RepairedData,
    "tool_used": work.ToolUsedData,
    "answered": work.AnsweredData,
    "step_started": plans.StepData,
    "step_finished": plans.StepData,
    "merged": plans.MergedData,
    "checked": evidence.CheckedData,
    "verified": evidence.VerifiedData,
    "critiqued": evidence.CritiquedData,
    "summarized": work.SummarizedData,
    "delivered": repositories.DeliveredData,
    "benchmark_started": benchmarks.BenchmarkStartedData,
    "exercise_finished": benchmarks.ExerciseFinishedData,
}
LIFE: Data = {
    "submitted": lifecycle.SubmittedData,
    "message_added": lifecycle.MessageAddedData,
    "started": lifecycle.StartedData,
    "fetch_started": repositories.FetchStartedData,
    "files_missing": repositories.FilesMissingData,
    "setup_left_out": repositories.SetupLeftOutData,
    "setup_started": repositories.SetupStartedData,
    "setup_finished": repositories.SetupFinishedData,
    "review_opened": reviews.ReviewOpenedData,
    "review_reminded": reviews.ReviewWaitsData,
    "review_escalated": reviews.ReviewWaitsData,
    "review_assigned": reviews.ReviewAssignedData,
    "review_expired": reviews.ReviewExpiredData,
    "voted": reviews.VotedData,
    "vote_withdrawn": reviews.VoteWithdrawnData,
    "decided": reviews.DecidedData,
    "begun_anew": lifecycle.BegunAnewData,
    "given_back": lifecycle.GivenBackData,
    "lease_lost": lifecycle.LeaseLostData,
    "succeeded": lifecycle.SucceededData,
    "failed": lifecycle.FailedData,
    "cancelled": lifecycle.CancelledData,
}
KINDS: Data = {**LIFE, **WORK}
