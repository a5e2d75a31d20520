from __future__ import annotations

from django.db import models
from django.db.models import Q
from uuid_utils.compat import uuid7

from routing.choices import RevisionState, ScheduleState, Verdict
from routing.models.fields import JsonTextField


class Entry(models.Model):
    """A piece of published documents, stored once by digest and shared by all revisions of its workspace that hold it."""

    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="entries")
    digest = models.BinaryField(max_length=32)
    body = models.BinaryField()  # JSON text, deflated

    class Meta:
        constraints = [models.UniqueConstraint(fields=("workspace", "digest"), name="entry_stored_once_by_digest")]


class RevisionQuerySet(models.QuerySet["Revision"]):
    def open(self) -> RevisionQuerySet:
        """Proposals that wait for review or publishing."""
        return self.filter(state__in=(RevisionState.PROPOSED, RevisionState.APPROVED))


class Revision(models.Model):
    """A document of a workspace, immutable: a manifest of entries under one canonical digest."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=16, choices=RevisionState.choices, default=RevisionState.PROPOSED)
    digest = models.CharField(max_length=80)
    base_number = models.PositiveIntegerField(null=True, blank=True)
    manifest = JsonTextField()
    message = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=200)
    published_at = models.DateTimeField(null=True, blank=True)
    published_by = models.CharField(max_length=200, blank=True)
    authors = JsonTextField(default=list, blank=True)  # persons who changed anything in it
    approvals_needed = models.PositiveSmallIntegerField(
        null=True, blank=True
    )  # when it went live; before, as the workspace says
    emergency = models.BooleanField(default=False)  # published past its approvals by an administrator

    objects = RevisionQuerySet.as_manager()

    class Meta:
        ordering = ("-number",)
        constraints = [
            models.UniqueConstraint(fields=("workspace", "number"), name="revision_number_unique_in_workspace"),
            models.UniqueConstraint(
                fields=("workspace",), condition=Q(state=RevisionState.LIVE), name="one_live_revision_in_a_workspace"
            ),
        ]

    def __str__(self) -> str:
        return f"revision {self.number}"


class Review(models.Model):
    """What one person said about one proposal. Never changed, except that an approval becomes void when the draft moves on."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    revision = models.ForeignKey(Revision, on_delete=models.CASCADE, related_name="reviews")
    verdict = models.CharField(max_length=16, choices=Verdict.choices)
    person = models.CharField(max_length=200)  # who answers for it; `by` names the key when one was used
    by = models.CharField(max_length=200)
    comment = models.TextField(blank=True)
    void = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                fields=("revision", "person"),
                condition=Q(verdict=Verdict.APPROVED, void=False),
                name="one_standing_approval_of_a_person",
            )
        ]


class Edit(models.Model):
    """One change of the working copy: who, when, why and which paths. It belongs to the draft until a revision takes it over."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="edits")
    revision = models.ForeignKey(Revision, null=True, blank=True, on_delete=models.CASCADE, related_name="edits")
    person = models.CharField(max_length=200)
    by = models.CharField(max_length=200)
    at = models.DateTimeField()
    message = models.TextField(blank=True)
    paths = JsonTextField(default=list)  # as in a document's differences; "" stands for the whole document
    step = models.BinaryField(null=True, blank=True)  # both sides of what it changed, deflated: to take it back

    class Meta:
        ordering = ("id",)
        indexes = [models.Index(fields=("workspace", "revision"), name="edit_by_draft_or_revision")]


class Remark(models.Model):
    """What somebody says about one line of a change, or an answer to that. It is the draft's until a proposal has it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="remarks")
    revision = models.ForeignKey(Revision, null=True, blank=True, on_delete=models.CASCADE, related_name="remarks")
    answers = models.ForeignKey("self", null=True, blank=True, on_delete=models.CASCADE, related_name="answered_by")
    path = models.TextField()  # of the change, as in a document's differences
    line = models.PositiveSmallIntegerField(default=0)  # of the change as it is shown, from 1; 0 is the whole change
    quote = models.TextField(blank=True)  # what that line said
    person = models.CharField(max_length=200)
    by = models.CharField(max_length=200)
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolved_by = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ("id",)
        indexes = [models.Index(fields=("workspace", "revision"), name="remark_by_draft_or_revision")]


class Schedule(models.Model):
    """A proposal that goes live at a time, once, if nothing stands in the way then."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="schedules")
    revision = models.ForeignKey(Revision, on_delete=models.CASCADE, related_name="schedules")
    at = models.DateTimeField()
    state = models.CharField(max_length=16, choices=ScheduleState.choices, default=ScheduleState.WAITING)
    message = models.TextField(blank=True)
    actor_kind = models.CharField(max_length=16)
    actor = models.CharField(max_length=200)  # who set it, and as whom it is published
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    reason = models.TextField(blank=True)  # why it failed or is void

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(
                fields=("workspace",), condition=Q(state=ScheduleState.WAITING), name="one_waiting_schedule"
            )
        ]
        indexes = [
            models.Index(fields=("at",), name="schedule_due", condition=Q(state=ScheduleState.WAITING)),
        ]


class Generation(models.Model):
    """One row that counts publications and key changes, so that every process sees with one cheap read that it is behind."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    value = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="one_generation_row")]
