"""Words that are stored: each with the label that operators read."""

from __future__ import annotations

from django.db import models


class RevisionState(models.TextChoices):
    PROPOSED = "proposed"
    APPROVED = "approved"
    REJECTED = "rejected"
    CANARY = "canary"  # answers some, while the live one answers all others
    LIVE = "live"
    SUPERSEDED = "superseded"


class CanaryState(models.TextChoices):
    """Where a revision that answers some first stands; all but the first are final."""

    RUNNING = "running"
    PROMOTED = "promoted"
    STOPPED = "stopped"


class CanaryEnd(models.TextChoices):
    """What becomes of a canary when its time is over."""

    STOP = "stop"
    PROMOTE = "promote"


class Verdict(models.TextChoices):
    """What somebody says about a proposal."""

    APPROVED = "approved"
    REJECTED = "rejected"
    COMMENTED = "commented"


class LabelVerdict(models.TextChoices):
    """What somebody thinks of a decision."""

    RIGHT = "right"
    WRONG = "wrong"


class ShadowEnd(models.TextChoices):
    """Why a shadow policy scores no more."""

    TIME = "time"
    STOPPED = "stopped"
    PUBLISHED = "published"  # the policy has other values live than when it began
    REMOVED = "removed"  # the policy is live no more


class InspectionKind(models.TextChoices):
    """What a worker looks at an endpoint for, or at a provider's account."""

    TEST = "test"
    DISCOVER = "discover"
    PROVIDER = "provider"


class ScheduleState(models.TextChoices):
    """Where a publication that was set for a time stands; all but the first are final."""

    WAITING = "waiting"
    DONE = "done"
    CANCELLED = "cancelled"
    VOID = "void"  # what was to be published changed or is gone
    FAILED = "failed"


class SourceMode(models.TextChoices):
    """What the console may do with a registry that is kept in a file."""

    READ_ONLY = "read-only"
    TWO_WAY = "two-way"


class SourceState(models.TextChoices):
    """How the file that a registry is kept in stands to what is live."""

    IN_SYNC = "in_sync"
    DRIFTED = "drifted"
    UNREADABLE = "unreadable"


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


# What a session adds to a route's reason codes: a loop that was seen, a circuit that turned.
SESSION_CODES = ("loop_repeat", "loop_alternation", "loop_cycle", "circuit_opened", "circuit_closed")


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
