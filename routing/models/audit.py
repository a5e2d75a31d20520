from __future__ import annotations

from django.db import models

from routing.choices import AuditResult
from routing.models.fields import JsonTextField


class AuditEntry(models.Model):
    """A row of the audit log: who did what, from where, and what it changed; chained like the ledger.

    The workspace's key is no constraint in the database: entries outlive what they are about, and writing one must not
    wait for whoever holds the workspace's row.
    """

    pk_id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(
        "routing.Workspace", on_delete=models.DO_NOTHING, db_constraint=False, related_name="audit_entries"
    )
    seq = models.PositiveBigIntegerField()
    at = models.DateTimeField()
    actor_kind = models.CharField(max_length=16)  # operator | key | system | visitor
    actor = models.CharField(max_length=200)
    action = models.CharField(max_length=40)
    target = models.CharField(max_length=400, blank=True)
    result = models.CharField(max_length=16, choices=AuditResult.choices, default=AuditResult.DONE)
    before = JsonTextField(null=True, blank=True)
    after = JsonTextField(null=True, blank=True)
    changes = JsonTextField(default=list, blank=True)
    message = models.TextField(blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    address = models.CharField(max_length=64, blank=True)
    prev_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    class Meta:
        ordering = ("-seq",)
        constraints = [models.UniqueConstraint(fields=("workspace", "seq"), name="audit_number_unique_in_workspace")]
        indexes = [
            models.Index(fields=("workspace", "action", "-seq"), name="audit_newest_of_action"),
            models.Index(fields=("workspace", "actor", "-seq"), name="audit_newest_of_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.seq}"


class AuditHead(models.Model):
    """The newest number and hash of a workspace's audit log; whoever appends locks this row first."""

    workspace = models.OneToOneField(
        "routing.Workspace",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        primary_key=True,
        related_name="audit_head",
    )
    seq = models.PositiveBigIntegerField(default=0)
    hash = models.CharField(max_length=64, default="0" * 64)
