from __future__ import annotations

from django.db import models

from routing.choices import SourceState
from routing.models.fields import JsonTextField


class SourceCheck(models.Model):
    """What the last look at a workspace's source of truth found. It goes when another file is named."""

    workspace = models.OneToOneField(
        "routing.Workspace", primary_key=True, on_delete=models.CASCADE, related_name="source_check"
    )
    state = models.CharField(max_length=16, choices=SourceState.choices)
    since = models.DateTimeField()  # when it came into this state
    checked_at = models.DateTimeField()
    digest = models.CharField(max_length=80, blank=True)  # of the document in the file; empty when there is none
    why = models.TextField(blank=True)  # it is unreadable, in a sentence
    problems = JsonTextField(default=list, blank=True)  # of a document that breaks its rules
    proposed = models.CharField(max_length=80, blank=True)  # digest of what was proposed from the file last
