"""Who signs in: members of workspaces, how each person likes the console, and the keys of harnesses."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from uuid_utils.compat import uuid7

from routing.models.fields import JsonTextField


class Role(models.TextChoices):
    VIEWER = "viewer"
    EDITOR = "editor"
    REVIEWER = "reviewer"
    ADMINISTRATOR = "administrator"
    AUDITOR = "auditor"


class Membership(models.Model):
    """A person's role in a workspace."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role.choices)

    class Meta:
        constraints = [models.UniqueConstraint(fields=("user", "workspace"), name="one_role_in_a_workspace")]


class Theme(models.TextChoices):
    LIGHT = "light"
    DARK = "dark"
    AUTO = "auto"


class Preference(models.Model):
    """How a person likes the console, on every device; an empty field was never chosen."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="preference")
    theme = models.CharField(max_length=8, choices=Theme.choices, blank=True)
    time_zone = models.CharField(max_length=64, blank=True)  # of the IANA database; empty is UTC


class HarnessKey(models.Model):
    """A harness's key: its keyed digest, never the key. It reaches one scope of one workspace."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="keys")
    name = models.CharField(max_length=200)
    scope = models.CharField(max_length=64)
    rights = JsonTextField(default=list)
    digest = models.CharField(max_length=64, unique=True)
    ends_with = models.CharField(max_length=4)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=200)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = [models.UniqueConstraint(fields=("workspace", "name"), name="key_name_unique_in_workspace")]

    def __str__(self) -> str:
        return self.name
