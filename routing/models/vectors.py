from __future__ import annotations

from django.db import models


class TextVector(models.Model):
    """What an encoder made of one text of a catalog, in eight bits. The text itself is not kept, nor any text of a request."""

    key = models.CharField(primary_key=True, max_length=64)  # SHA-256 of the encoder's identity and the text
    encoder = models.CharField(max_length=64)
    values = models.BinaryField()
    scale = models.FloatField()
