"""Who signs in: members of workspaces and who is asked in, how each person likes the console, and the keys of harnesses."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone
from uuid_utils.compat import uuid7

from routing.choices import DecisionState
from routing.models.fields import JsonTextField


class Role(models.TextChoices):
    VIEWER = "viewer"
    EDITOR = "editor"
    REVIEWER = "reviewer"
    ADMINISTRATOR = "administrator"
    AUDITOR = "auditor"


class MembershipQuerySet(models.QuerySet["Membership"]):
    def active(self) -> MembershipQuerySet:
        """Of people who get in: neither the membership nor the account is deactivated."""
        return self.filter(deactivated_at__isnull=True, user__is_active=True)


class Membership(models.Model):
    """A person's role in a workspace."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role.choices)
    admitted_by = models.CharField(max_length=200, blank=True)
    admitted_at = models.DateTimeField(null=True, blank=True)  # null: before such things were kept
    # A member who is deactivated keeps name and role here and reaches nothing.
    deactivated_at = models.DateTimeField(null=True, blank=True)
    # When this member left the page that sets an empty workspace up; it is not led to by itself afterwards.
    setup_left_at = models.DateTimeField(null=True, blank=True)

    objects = MembershipQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=("user", "workspace"), name="one_role_in_a_workspace")]


class Invitation(models.Model):
    """A link that lets one person into a workspace, once. Its keyed digest is kept, never the link."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="invitations")
    label = models.CharField(max_length=200)  # for whom, in the words of who asked them in
    role = models.CharField(max_length=16, choices=Role.choices)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=200)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    accepted_by = models.CharField(max_length=200, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.label

    @property
    def is_open(self) -> bool:
        return self.accepted_at is None and self.withdrawn_at is None and self.expires_at > timezone.now()


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
    """A harness's key: its keyed digest, never the key. It reaches one scope of one workspace.

    A rotated key keeps its row and name; the key before it goes on working until `previous_until`.
    """

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
    allowed_addresses = JsonTextField(default=list, blank=True)  # networks in CIDR; none of them means any address
    last_used_at = models.DateTimeField(null=True, blank=True)  # at most a minute behind
    rotated_at = models.DateTimeField(null=True, blank=True)
    previous_digest = models.CharField(max_length=64, null=True, blank=True, unique=True)
    previous_ends_with = models.CharField(max_length=4, blank=True)
    previous_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = [models.UniqueConstraint(fields=("workspace", "name"), name="key_name_unique_in_workspace")]

    def __str__(self) -> str:
        return self.name


class DemoLoad(models.Model):
    """A loading of the demo catalog into an empty workspace, which a worker does."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="demo_loads")
    state = models.CharField(max_length=16, choices=DecisionState.choices, default=DecisionState.QUEUED)
    said = models.CharField(max_length=400, blank=True)  # how far it is or what came of it, in a sentence
    actor_kind = models.CharField(max_length=16)
    actor = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"demo catalog for {self.workspace_id}"


class SavedView(models.Model):
    """Filters and order of a list under a name: a person's own, or shared with the workspace."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="saved_views")
    page = models.CharField(max_length=32)  # name of the list's address
    name = models.CharField(max_length=60)
    query = models.TextField()  # as in the address, without the question mark
    shared = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=("workspace", "user", "page", "name"),
                condition=models.Q(shared=False),
                name="own_view_named_once",
            ),
            models.UniqueConstraint(
                fields=("workspace", "page", "name"), condition=models.Q(shared=True), name="shared_view_named_once"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class DefaultView(models.Model):
    """The view with which a person opens a list."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="default_views")
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="default_views")
    page = models.CharField(max_length=32)
    view = models.ForeignKey(SavedView, on_delete=models.CASCADE, related_name="chosen_by")

    class Meta:
        constraints = [models.UniqueConstraint(fields=("user", "workspace", "page"), name="one_default_view_of_a_list")]
