from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models import Q
from uuid_utils.compat import uuid7

from routing.choices import FINAL_STATES, DecisionState, DecisionType
from routing.models.fields import JsonTextField

if TYPE_CHECKING:
    from routing.models.searches import Search


class DecisionQuerySet(models.QuerySet["Decision"]):
    def waiting(self) -> DecisionQuerySet:
        return self.filter(state__in=(DecisionState.QUEUED, DecisionState.RUNNING))

    def in_scope(self, workspace_id: Any, scope: str | None) -> DecisionQuerySet:
        rows = self.filter(workspace_id=workspace_id)
        return rows if scope is None else rows.filter(scope=scope)


class Decision(models.Model):
    """One recorded judgement. The text that was asked about is here only while a worker needs it, and encrypted."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="decisions")
    type = models.CharField(max_length=16, choices=DecisionType.choices)
    state = models.CharField(max_length=16, choices=DecisionState.choices, default=DecisionState.FINISHED)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    scope = models.CharField(max_length=64)
    harness = models.CharField(max_length=200)
    session_id = models.CharField(max_length=64, null=True, blank=True)
    policy = models.CharField(max_length=64, default="default")
    revision = models.PositiveIntegerField(null=True, blank=True)
    catalog_revision = models.CharField(max_length=64, null=True, blank=True)
    target = models.CharField(max_length=400, null=True, blank=True)
    status = models.CharField(max_length=32, null=True, blank=True)
    reason_codes = JsonTextField(default=list, blank=True)
    confidence = models.CharField(max_length=32, null=True, blank=True)  # a word for resolve, a number for route
    probability = models.FloatField(null=True, blank=True)
    match_probability = models.FloatField(null=True, blank=True)
    shipped = JsonTextField(null=True, blank=True)  # [match, right] before the workspace's calibration corrected them
    score_gap = models.FloatField(null=True, blank=True)
    source = models.CharField(max_length=16, null=True, blank=True)
    fallback_reason = models.CharField(max_length=64, null=True, blank=True)
    latency_ms = models.FloatField(null=True, blank=True)
    thresholds = JsonTextField(default=dict, blank=True)
    candidates = JsonTextField(default=list, blank=True)
    execution = JsonTextField(null=True, blank=True)
    answer = JsonTextField(null=True, blank=True)  # route and search: no request text
    error = models.CharField(max_length=200, blank=True)
    error_code = models.CharField(max_length=32, blank=True)  # of the answer that a failed decision gets
    # What a worker needs, encrypted; erased in the transaction that records the result.
    content = models.BinaryField(null=True, blank=True)
    claim = models.UUIDField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    enqueued_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    # Last known facts about what came of it; each is reported by its own event.
    invoked = models.BooleanField(default=False)
    transport = models.CharField(max_length=16, null=True, blank=True)
    domain = models.CharField(max_length=16, null=True, blank=True)
    agreed = models.BooleanField(null=True)  # whether what was invoked is what was recommended; null: nothing is known
    cost = models.FloatField(null=True, blank=True)  # of the provider's answers, where one is told; never 0

    objects = DecisionQuerySet.as_manager()
    search: Search  # of a search alone

    class Meta:
        ordering = ("-id",)
        indexes = [
            models.Index(fields=("workspace", "-id"), name="decision_newest"),
            models.Index(fields=("workspace", "scope", "-id"), name="decision_newest_in_scope"),
            models.Index(fields=("workspace", "target", "-id"), name="decision_newest_of_target"),
            models.Index(fields=("workspace", "source", "-id"), name="decision_newest_of_source"),
            models.Index(fields=("workspace", "revision", "-id"), name="decision_newest_of_revision"),
            models.Index(
                fields=("workspace", "fallback_reason", "-id"),
                name="decision_newest_fallback",
                condition=Q(fallback_reason__isnull=False),
            ),
            models.Index(fields=("workspace", "-id"), name="decision_newest_differed", condition=Q(agreed=False)),
            models.Index(fields=("workspace", "-id"), name="decision_newest_paid", condition=Q(cost__isnull=False)),
            models.Index(
                fields=("state", "enqueued_at"), name="decision_waiting", condition=Q(state__in=("queued", "running"))
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=~Q(state__in=[str(state) for state in FINAL_STATES]) | Q(content__isnull=True),
                name="a_final_decision_keeps_no_request_text",
            )
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def is_final(self) -> bool:
        return self.state in FINAL_STATES
