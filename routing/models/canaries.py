from __future__ import annotations

from django.db import models
from django.db.models import Q
from uuid_utils.compat import uuid7

from routing.choices import CanaryEnd, CanaryState
from routing.models.fields import JsonTextField


class CanaryRow(models.Model):
    """A revision that answers some before it answers everybody: whom, within which bounds, and what came of it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="canaries")
    revision = models.ForeignKey("routing.Revision", on_delete=models.CASCADE, related_name="canaries")
    live_number = models.PositiveIntegerField()  # of the revision that answers all others
    state = models.CharField(max_length=16, choices=CanaryState.choices, default=CanaryState.RUNNING)
    scopes = JsonTextField(default=list, blank=True)
    percent = models.PositiveSmallIntegerField(null=True, blank=True)  # of the keys; null where it is for scopes
    bounds = JsonTextField(default=dict)  # measure → by how much its share may rise, 0.05 for five percentage points
    minimum = models.PositiveIntegerField()  # of what a measure counts, in both groups, before it is judged
    until = models.DateTimeField(null=True, blank=True)  # null: until somebody decides
    at_end = models.CharField(max_length=16, choices=CanaryEnd.choices, default=CanaryEnd.STOP)
    override = models.TextField(blank=True)  # why it was started although expectations are not met
    actor_kind = models.CharField(max_length=16)
    actor = models.CharField(max_length=200)  # who started it
    acts_as = models.CharField(max_length=200, blank=True)  # whose key it was, where one was used
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.CharField(max_length=200, blank=True)
    reason = models.TextField(blank=True)  # why it ended
    measure = models.CharField(max_length=16, blank=True)  # whose bound ended it
    before = JsonTextField(null=True, blank=True)  # both groups in the days before, where they are different scopes
    figures = JsonTextField(null=True, blank=True)  # both groups when it was counted last

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(
                fields=("workspace",), condition=Q(state=CanaryState.RUNNING), name="one_canary_at_a_time"
            ),
            models.CheckConstraint(
                condition=Q(percent__isnull=True) | Q(percent__range=(1, 50)), name="a_canary_is_for_half_at_most"
            ),
        ]

    def __str__(self) -> str:
        return f"canary {self.pk}"

    @property
    def is_running(self) -> bool:
        return self.state == CanaryState.RUNNING
