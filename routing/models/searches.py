from __future__ import annotations

from django.db import models

from routing.models.fields import JsonTextField


class Search(models.Model):
    """What a search adds to its decision: how far it is, the tree that it grew, and whether somebody wants it to end.

    Ids of states and names of tools are all that it holds of the request.
    """

    decision = models.OneToOneField(
        "routing.Decision", on_delete=models.CASCADE, primary_key=True, related_name="search"
    )
    method = models.CharField(max_length=16)
    simulations = models.PositiveIntegerField(default=0)  # done so far
    of = models.PositiveIntegerField(default=0)  # wanted
    elapsed_ms = models.FloatField(default=0)
    tree = JsonTextField(default=list, blank=True)  # packed nodes (routing.engine.search.telling)
    cancel_requested = models.BooleanField(default=False)
    runs = models.PositiveSmallIntegerField(default=0)  # workers that began it

    def __str__(self) -> str:
        return str(self.pk)
