from __future__ import annotations

from django.db import models
from django.db.models import Q
from uuid_utils.compat import uuid7

from routing.choices import LabelVerdict


class Label(models.Model):
    """What one person thinks of a decision. An opinion, and no event of the ledger: nobody reported that anything happened."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="labels")
    decision = models.ForeignKey("routing.Decision", on_delete=models.CASCADE, related_name="labels")
    verdict = models.CharField(max_length=16, choices=LabelVerdict.choices)
    tool = models.CharField(max_length=400, blank=True)  # what it should have been, by its public name
    person = models.CharField(max_length=200)
    by = models.CharField(max_length=200)
    at = models.DateTimeField()

    class Meta:
        ordering = ("-at", "-id")
        indexes = [models.Index(fields=("workspace", "verdict", "-decision"), name="label_by_verdict")]
        constraints = [
            models.UniqueConstraint(fields=("decision", "person"), name="one_label_of_a_person_on_a_decision"),
            models.CheckConstraint(
                condition=Q(tool="") | Q(verdict=LabelVerdict.WRONG), name="what_is_right_should_not_have_been_other"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verdict} by {self.by}"
