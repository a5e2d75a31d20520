"""Words that are stored: each with the label that operators read."""

from __future__ import annotations

from django.db import models


class RevisionState(models.TextChoices):
    PROPOSED = "proposed"
    APPROVED = "approved"
    REJECTED = "rejected"
    LIVE = "live"
    SUPERSEDED = "superseded"


class Verdict(models.TextChoices):
    """What somebody says about a proposal."""

    APPROVED = "approved"
    REJECTED = "rejected"
    COMMENTED = "commented"


class InspectionKind(models.TextChoices):
    """What a worker looks at an endpoint for."""

    TEST = "test"
    DISCOVER = "discover"


class ScheduleState(models.TextChoices):
    """Where a publication that was set for a time stands; all but the first are final."""

    WAITING = "waiting"
    DONE = "done"
    CANCELLED = "cancelled"
    VOID = "void"  # what was to be published changed or is gone
    FAILED = "failed"


class DecisionType(models.TextChoices):
    RESOLVE = "resolve"
    ROUTE = "route"
    SEARCH = "search"
    ADVICE = "advice"
    SELECT = "select"


class DecisionState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINAL_STATES = (DecisionState.FINISHED, DecisionState.FAILED, DecisionState.CANCELLED)


class EventKind(models.TextChoices):
    RECOMMENDATION = "recommendation"
    INVOCATION = "invocation"
    TRANSPORT_OUTCOME = "transport_outcome"
    DOMAIN_OUTCOME = "domain_outcome"


class TransportStatus(models.TextChoices):
    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    UNKNOWN = "unknown"


class DomainStatus(models.TextChoices):
    SUCCESS = "success"
    FAILURE = "failure"
    PARTIAL = "partial"
    UNKNOWN = "unknown"


class AuditResult(models.TextChoices):
    DONE = "done"
    REFUSED = "refused"
