from __future__ import annotations

from django.db import models
from django.db.models import Q
from uuid_utils.compat import uuid7

from routing.choices import DecisionState, InspectionKind
from routing.models.fields import JsonTextField


class Inspection(models.Model):
    """A look at an endpoint that a worker takes: a connection test, or a reading of its tools. It changes no registry."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="inspections")
    endpoint = models.CharField(max_length=64)
    kind = models.CharField(max_length=16, choices=InspectionKind.choices)
    state = models.CharField(max_length=16, choices=DecisionState.choices, default=DecisionState.QUEUED)
    by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    said = models.CharField(max_length=400, blank=True)  # what came of it or how far it is, in a sentence
    code = models.CharField(max_length=16, blank=True)  # of a failure
    found = JsonTextField(default=dict, blank=True)  # what the server said: its tools, in the words of the document

    class Meta:
        ordering = ("-id",)
        indexes = [models.Index(fields=("workspace", "endpoint"), name="inspections_of_an_endpoint")]
        constraints = [models.CheckConstraint(condition=~Q(endpoint=""), name="an_inspection_names_its_endpoint")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.endpoint}"
