from __future__ import annotations

from django.db import models
from django.db.models import Q
from uuid_utils.compat import uuid7

from routing.choices import FINAL_STATES, DecisionState
from routing.models.fields import JsonTextField


class Replay(models.Model):
    """Recorded decisions that a worker makes again under a candidate document. It holds no text of any request."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="replays")
    about = models.CharField(max_length=500, blank=True)  # what the console asked it for; empty for the API
    by = models.CharField(max_length=200)
    against = models.PositiveIntegerField()  # the revision on the other side; 0 before the first
    digest = models.CharField(max_length=80)  # of the candidate
    document = models.BinaryField(null=True, blank=True)  # the candidate, deflated, until it is final
    window = JsonTextField(default=dict)
    state = models.CharField(max_length=16, choices=DecisionState.choices, default=DecisionState.QUEUED)
    done = models.PositiveIntegerField(default=0)
    of = models.PositiveIntegerField(default=0)
    result = JsonTextField(null=True, blank=True)
    error = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    claim = models.UUIDField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(auto_now_add=True)  # when a worker was told of it last
    runs = models.PositiveSmallIntegerField(default=0)  # workers that began it

    class Meta:
        ordering = ("-id",)
        indexes = [
            models.Index(fields=("workspace", "about", "-id"), name="replay_newest_about"),
            models.Index(fields=("state",), name="replay_open", condition=Q(state__in=("queued", "running"))),
        ]

    def __str__(self) -> str:
        return str(self.pk)

    @property
    def is_final(self) -> bool:
        return self.state in FINAL_STATES
