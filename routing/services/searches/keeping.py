"""How long a search's tree is kept: its answer stays with the decision, the tree is only for looking at."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.utils import timezone

from routing.models import Search

logger = logging.getLogger(__name__)
TREE_LASTS = timedelta(days=30)
BATCH = 500


def forget_trees() -> int:
    """Drop the trees of searches that ended too long ago; returns how many. What is left over waits for the next time."""
    old = Search.objects.filter(decision__finished_at__lt=timezone.now() - TREE_LASTS).exclude(tree=[])
    forgotten = Search.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:BATCH])).update(tree=[])
    if forgotten:
        logger.info("%d trees of searches older than %d days were forgotten", forgotten, TREE_LASTS.days)
    return forgotten
