from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from uuid_utils.compat import uuid7

from routing.choices import ShadowEnd
from routing.models.fields import JsonTextField


class ShadowPolicy(models.Model):
    """A drafted policy's values that judge live decisions again beside the live ones. Nobody acts by what it says."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="shadow_policies")
    policy = models.CharField(max_length=64)
    values = JsonTextField(default=dict)  # what the draft came to when it began (routing.engine.shadow_policy.BLOCKS)
    base = JsonTextField(default=dict)  # the same of what was live
    revision = models.PositiveIntegerField()  # that was live when it began
    scopes = JsonTextField(default=list, blank=True)  # empty: every scope that decides by the policy
    share = models.FloatField(default=1.0)  # of the decisions
    began_at = models.DateTimeField()
    until = models.DateTimeField()
    by = models.CharField(max_length=200)
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_because = models.CharField(max_length=16, choices=ShadowEnd.choices, blank=True)
    ended_by = models.CharField(max_length=200, blank=True)
    counts = JsonTextField(default=dict, blank=True)  # scope -> kind -> decisions; they stay when differences go
    unjudged = JsonTextField(default=dict, blank=True)  # why not -> decisions
    listed = models.PositiveIntegerField(default=0)  # differences that were ever listed

    class Meta:
        ordering = ("-id",)
        indexes = [models.Index(fields=("workspace", "policy", "-id"), name="shadow_policy_newest")]
        constraints = [
            models.UniqueConstraint(
                fields=("workspace", "policy"), condition=Q(ended_at=None), name="one_shadow_policy_of_a_policy_runs"
            ),
            models.CheckConstraint(condition=Q(share__gt=0) & Q(share__lte=1), name="a_shadow_policy_takes_a_share"),
            models.CheckConstraint(condition=Q(until__gt=F("began_at")), name="a_shadow_policy_lasts"),
        ]

    def __str__(self) -> str:
        return f"shadow of {self.policy}"

    @property
    def is_running(self) -> bool:
        return self.ended_at is None


class ShadowDifference(models.Model):
    """A decision that a shadow policy would have made otherwise: names, codes and figures, no word of the request."""

    shadow = models.ForeignKey(ShadowPolicy, on_delete=models.CASCADE, related_name="differences")
    decision = models.ForeignKey(
        "routing.Decision",
        on_delete=models.CASCADE,
        related_name="shadow_differences",
        db_constraint=False,  # one that came amiss must not take the ledger's batch with it
    )
    at = models.DateTimeField()
    scope = models.CharField(max_length=64)
    kind = models.CharField(max_length=24)  # one of routing.engine.shadow_policy.KINDS
    live = JsonTextField(default=dict)
    other = JsonTextField(default=dict)  # what the shadow policy would have answered

    class Meta:
        ordering = ("-id",)
        indexes = [
            models.Index(fields=("shadow", "-id"), name="shadow_difference_newest"),
            models.Index(fields=("shadow", "kind", "-id"), name="shadow_difference_of_kind"),
        ]
        constraints = [
            models.UniqueConstraint(fields=("shadow", "decision"), name="one_shadow_difference_of_a_decision")
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.decision_id}"
