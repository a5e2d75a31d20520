from __future__ import annotations

from django.db import models
from uuid_utils.compat import uuid7

from routing.models.fields import JsonTextField


class CalibrationRow(models.Model):
    """What a workspace's outcomes say about the judge's two probabilities; the newest version of the shipped fit is in use.

    Numbers only: no names of tools, no text of any request.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="calibrations")
    version = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=200)
    fit = models.CharField(max_length=16)  # the shipped fit that it corrects
    outcomes = models.PositiveIntegerField()
    right = models.PositiveIntegerField()  # of them, with the first tool right
    match_intercept = models.FloatField()
    match_slope = models.FloatField()
    right_intercept = models.FloatField()
    right_slope = models.FloatField()
    figures = JsonTextField(default=dict, blank=True)  # how far off the probabilities were before and after

    class Meta:
        ordering = ("-version",)
        constraints = [
            models.UniqueConstraint(fields=("workspace", "version"), name="calibration_version_unique_in_workspace"),
            models.CheckConstraint(
                condition=models.Q(match_slope__gt=0) & models.Q(right_slope__gt=0),
                name="a_calibration_keeps_the_order",
            ),
        ]

    def __str__(self) -> str:
        return f"calibration {self.version}"
