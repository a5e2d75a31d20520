from __future__ import annotations

from django.db import models
from uuid_utils.compat import uuid7

from routing.choices import EventKind
from routing.models.fields import JsonTextField


class PendingEvent(models.Model):
    """An event that is accepted and kept, and waits for the one writer of its workspace's chain."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="pending_events")
    event_id = models.CharField(max_length=64)
    body = JsonTextField()

    class Meta:
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=("workspace", "event_id"), name="pending_event_kept_once")]


class Receipt(models.Model):
    """What a harness reported under an id, as a digest: tells a repeat from a conflict. No part of the chain."""

    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="+")
    event_id = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=("workspace", "event_id"), name="one_receipt_for_an_event")]


class Event(models.Model):
    """A row of the ledger: append-only, numbered without gap, chained by SHA-256 within its workspace."""

    pk_id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.PROTECT, related_name="events")
    seq = models.PositiveBigIntegerField()
    event_id = models.CharField(max_length=64)
    at = models.DateTimeField()
    recorded_at = models.DateTimeField()
    kind = models.CharField(max_length=20, choices=EventKind.choices)
    scope = models.CharField(max_length=64)
    harness = models.CharField(max_length=200)
    decision_id = models.CharField(max_length=64, null=True, blank=True)
    session_id = models.CharField(max_length=64, null=True, blank=True)
    invocation_id = models.CharField(max_length=64, null=True, blank=True)
    revision = models.PositiveIntegerField(null=True, blank=True)
    target = models.CharField(max_length=400, null=True, blank=True)
    status = models.CharField(max_length=32, null=True, blank=True)
    reason_codes = JsonTextField(default=list, blank=True)
    data = JsonTextField(default=dict, blank=True)
    prev_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    class Meta:
        ordering = ("-seq",)
        constraints = [
            models.UniqueConstraint(fields=("workspace", "seq"), name="event_number_unique_in_workspace"),
            models.UniqueConstraint(fields=("workspace", "event_id"), name="event_id_unique_in_workspace"),
        ]
        indexes = [
            models.Index(fields=("workspace", "scope", "-seq"), name="event_newest_in_scope"),
            models.Index(fields=("workspace", "decision_id"), name="event_of_decision"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.seq}"


class ChainHead(models.Model):
    """The newest number and hash of a workspace's chain; whoever appends locks this row first."""

    workspace = models.OneToOneField(
        "routing.Workspace", on_delete=models.PROTECT, primary_key=True, related_name="chain_head"
    )
    seq = models.PositiveBigIntegerField(default=0)
    hash = models.CharField(max_length=64, default="0" * 64)


class Minute(models.Model):
    """Decisions of one minute, counted as they are recorded: dashboards read these and never the raw ledger."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="minutes")
    at = models.DateTimeField()
    scope = models.CharField(max_length=64)
    type = models.CharField(max_length=16)
    status = models.CharField(max_length=32)
    count = models.PositiveIntegerField(default=0)
    recommended = models.PositiveIntegerField(default=0)  # of them, with a target
    invoked = models.PositiveIntegerField(default=0)
    returned = models.PositiveIntegerField(default=0)  # transport ok
    not_returned = models.PositiveIntegerField(default=0)  # transport error or timeout
    achieved = models.PositiveIntegerField(default=0)  # domain success
    not_achieved = models.PositiveIntegerField(default=0)  # domain failure or partial
    agreed = models.PositiveIntegerField(default=0)  # what was invoked is what was recommended
    differed = models.PositiveIntegerField(default=0)  # something else was invoked
    cost = models.FloatField(default=0)  # of providers' answers, where it is told
    latency = JsonTextField(default=dict, blank=True)  # bucket → count
    sources = JsonTextField(default=dict, blank=True)  # who answered → count
    fallbacks = JsonTextField(default=dict, blank=True)  # reason → count
    turns = JsonTextField(default=dict, blank=True)  # loop seen, circuit opened or closed in a session → count

    class Meta:
        ordering = ("at",)
        constraints = [
            models.UniqueConstraint(fields=("workspace", "at", "scope", "type", "status"), name="minute_counted_once"),
        ]
