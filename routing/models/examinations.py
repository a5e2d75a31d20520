from __future__ import annotations

from django.db import models
from django.db.models import Q
from uuid_utils.compat import uuid7

from routing.models.fields import JsonTextField


class Examination(models.Model):
    """What the hint doctor found in one document. It changes no registry, and is made again when it is gone."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="examinations")
    digest = models.CharField(max_length=80)
    made_at = models.DateTimeField(auto_now_add=True)
    seconds = models.FloatField()
    found = JsonTextField(default=list)  # findings as the engine tells them, the worst first
    more = JsonTextField(default=dict)  # kind -> how many are left out
    asked = models.PositiveIntegerField(default=0)
    unasked = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(fields=("workspace", "digest"), name="one_examination_of_a_document"),
            models.CheckConstraint(condition=~Q(digest=""), name="an_examination_names_its_document"),
        ]


class IgnoredFinding(models.Model):
    """A finding that somebody leaves as it is, and why. Its key is another one as soon as what it is about changes."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="ignored_findings")
    key = models.CharField(max_length=32)
    code = models.CharField(max_length=32)
    reason = models.CharField(max_length=500)
    person = models.CharField(max_length=200)
    by = models.CharField(max_length=200)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(fields=("workspace", "key"), name="a_finding_is_ignored_once"),
            models.CheckConstraint(condition=~Q(reason=""), name="ignoring_a_finding_has_a_reason"),
        ]
