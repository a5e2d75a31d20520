from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q
from uuid_utils.compat import uuid7

from routing.choices import SourceMode
from routing.models.fields import JsonTextField

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser


class WorkspaceQuerySet(models.QuerySet["Workspace"]):
    def visible_to(self, user: AbstractBaseUser | AnonymousUser) -> WorkspaceQuerySet:
        """The workspaces of which this person is an active member; nothing for a stranger."""
        if not user.is_authenticated or not user.is_active:
            return self.none()
        return self.filter(memberships__user_id=user.pk, memberships__deactivated_at__isnull=True).distinct()


class Workspace(models.Model):
    """One team's registry, keys, decisions and ledger. Nothing crosses from one workspace to another."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=64, unique=True)
    title = models.CharField(max_length=200, blank=True)
    gateway = JsonTextField(default=dict, blank=True)  # of the working copy
    draft_by = models.CharField(max_length=200, blank=True)  # who changed the working copy last; empty when it is live
    draft_version = models.PositiveIntegerField(default=0)  # grows with every change of the working copy
    approvals_needed = models.PositiveSmallIntegerField(default=0)
    self_approval = models.BooleanField(default=False)
    allow_private = JsonTextField(default=list, blank=True)
    record_queries = models.BooleanField(default=False)
    source_file = models.CharField(max_length=1000, blank=True)  # that the registry is kept in; empty: in no file
    source_mode = models.CharField(max_length=16, choices=SourceMode.choices, default=SourceMode.READ_ONLY)
    source_proposes = models.BooleanField(default=False)  # what the file says otherwise is proposed by itself
    live_revision = models.ForeignKey(
        "routing.Revision", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    # Written with every append and never lowered: a second witness of how long the chain was, beside its head.
    ledger_seq = models.PositiveBigIntegerField(default=0)
    outcomes_new = models.PositiveIntegerField(default=0)  # reported since the judge was calibrated last
    created_at = models.DateTimeField(auto_now_add=True)

    objects = WorkspaceQuerySet.as_manager()

    class Meta:
        ordering = ("name",)
        constraints = [
            models.CheckConstraint(condition=~Q(name=""), name="workspace_is_named"),
            models.CheckConstraint(
                condition=Q(source_proposes=False) | (Q(source_mode=SourceMode.READ_ONLY) & ~Q(source_file="")),
                name="only_a_read_only_source_proposes",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_read_only(self) -> bool:
        """Whether the registry is changed in its file alone."""
        return bool(self.source_file) and self.source_mode == SourceMode.READ_ONLY
