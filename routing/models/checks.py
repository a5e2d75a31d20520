from __future__ import annotations

from django.db import models
from uuid_utils.compat import uuid7

from routing.models.fields import JsonTextField


class Check(models.Model):
    """What one document was found to be: notes about it, and what came of each of its expectations. Kept so that no page asks twice."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="checks")
    digest = models.CharField(max_length=80)  # of the document
    ground = models.CharField(max_length=80)  # by which judge and which calibration
    findings = JsonTextField(default=list, blank=True)  # [name, keys that differ, status, target] each
    warnings = JsonTextField(default=list, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(
                fields=("workspace", "digest", "ground"), name="a_document_is_checked_once_on_one_ground"
            )
        ]

    def __str__(self) -> str:
        return f"check of {self.digest[:19]}"
