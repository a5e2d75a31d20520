"""The working copy: the registry document of a workspace as rows that operators edit one at a time.

Fields that pages filter and edit are columns; the rest of an entry lies in `details`, as the document spells it, and
only where it differs from its default. No fact is kept twice. `position` keeps the document's order.
"""

from __future__ import annotations

from typing import Any

from django.db import models
from uuid_utils.compat import uuid7

from routing.models.fields import JsonTextField


class RowQuerySet(models.QuerySet[Any]):
    def enabled(self) -> RowQuerySet:
        return self.filter(enabled=True)


class Row(models.Model):
    """One named entry of a list of the document."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="%(class)ss")
    position = models.PositiveIntegerField(default=0)
    name = models.CharField(max_length=64)
    details = JsonTextField(default=dict, blank=True)

    objects = RowQuerySet.as_manager()

    class Meta:
        abstract = True
        ordering = ("position", "name")

    def __str__(self) -> str:
        return self.name


def _unique(noun: str) -> list[models.BaseConstraint]:
    return [models.UniqueConstraint(fields=("workspace", "name"), name=f"{noun}_name_unique_in_workspace")]


class EndpointRow(Row):
    """A routable target: an MCP server, a declared set of tools, or a model endpoint."""

    title = models.TextField(null=True, blank=True)
    kind = models.CharField(max_length=32)
    url = models.TextField(null=True, blank=True)
    credential = models.TextField(null=True, blank=True)  # a reference, never a value
    enabled = models.BooleanField(default=True)
    description = models.TextField(blank=True)
    tags = JsonTextField(default=list, blank=True)
    capabilities = JsonTextField(default=list, blank=True)
    use_when = JsonTextField(default=list, blank=True)
    tool_use_when = JsonTextField(default=dict, blank=True)

    class Meta(Row.Meta):
        constraints = _unique("endpoint")


class ToolRow(models.Model):
    """One callable thing on an endpoint, under the name that the endpoint publishes."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    endpoint = models.ForeignKey(EndpointRow, on_delete=models.CASCADE, related_name="tools")
    position = models.PositiveIntegerField(default=0)
    name = models.CharField(max_length=256)
    title = models.TextField(null=True, blank=True)
    description = models.TextField(blank=True)
    input_schema = JsonTextField(default=dict, blank=True)
    category = models.TextField(null=True, blank=True)
    risk = models.CharField(max_length=16, null=True, blank=True)
    effect = models.CharField(max_length=16, null=True, blank=True)
    enabled = models.BooleanField(default=True)
    details = JsonTextField(default=dict, blank=True)

    class Meta:
        ordering = ("position", "name")
        constraints = [models.UniqueConstraint(fields=("endpoint", "name"), name="tool_name_unique_on_endpoint")]

    def __str__(self) -> str:
        return self.name


class CapabilityRow(Row):
    """A word for what an endpoint is good at."""

    description = models.TextField(blank=True)
    deprecated = models.BooleanField(default=False)

    class Meta(Row.Meta):
        constraints = _unique("capability")


class ScopeRow(Row):
    """What a harness may see; it narrows and never grants."""

    policy = models.CharField(max_length=64, default="default")

    class Meta(Row.Meta):
        constraints = _unique("scope")


class PolicyRow(Row):
    """Named rules for ranking, deciding, searching and executing.

    The two thresholds repeat what the document gives in `router`, so that the database can hold their order.
    """

    direct_execution_threshold = models.FloatField(null=True, blank=True)
    fallback_threshold = models.FloatField(null=True, blank=True)

    class Meta(Row.Meta):
        constraints = [
            *_unique("policy"),
            models.CheckConstraint(
                condition=models.Q(fallback_threshold__lte=models.F("direct_execution_threshold"))
                | models.Q(fallback_threshold__isnull=True)
                | models.Q(direct_execution_threshold__isnull=True),
                name="policy_fallback_not_above_direct",
            ),
        ]


class EntryRow(Row):
    """Any other entry of the document: a group, provider, task rule, contract or expectation."""

    section = models.CharField(max_length=32)
    name = models.CharField(max_length=256)

    class Meta(Row.Meta):
        ordering = ("section", "position")
        constraints = [models.UniqueConstraint(fields=("workspace", "section", "position"), name="entry_has_its_place")]
