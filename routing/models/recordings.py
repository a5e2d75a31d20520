from __future__ import annotations

from django.db import models


class Recording(models.Model):
    """What it takes to make a decision again, encrypted, kept beside it for a bounded time where somebody opted in."""

    decision = models.OneToOneField(
        "routing.Decision",
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="recording",
        db_constraint=False,  # a recording that came amiss must not take the ledger's batch with it
    )
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="recordings")
    until = models.DateTimeField(db_index=True)  # when it is erased
    sealed = models.BinaryField()  # routing.services.recordings says what is in it

    def __str__(self) -> str:
        return str(self.pk)
