from __future__ import annotations

from django.db import models
from django.db.models import Q
from uuid_utils.compat import uuid7

from routing.models.fields import JsonTextField


class ProviderSetting(models.Model):
    """What a workspace settles about one of its provider accounts beside the registry: money, and whether it is only watched."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="provider_settings")
    provider = models.CharField(max_length=64)
    monthly_budget = models.FloatField(null=True, blank=True)  # in the account's currency; null: none
    token_price = models.FloatField(null=True, blank=True)  # per million input tokens, where an answer tells no cost
    shadow_share = models.FloatField(default=0)  # of the decisions that it is asked about beside the live provider

    class Meta:
        ordering = ("provider",)
        constraints = [
            models.UniqueConstraint(fields=("workspace", "provider"), name="a_provider_is_settled_once"),
            models.CheckConstraint(condition=Q(monthly_budget__gte=0), name="a_budget_is_not_negative"),
            models.CheckConstraint(condition=Q(token_price__gte=0), name="a_token_price_is_not_negative"),
            models.CheckConstraint(condition=Q(shadow_share__range=(0, 1)), name="a_shadow_share_is_a_share"),
        ]


class ProviderHour(models.Model):
    """An hour of calls to a provider account, added up: numbers and names of models, nothing that was asked."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey("routing.Workspace", on_delete=models.CASCADE, related_name="provider_hours")
    provider = models.CharField(max_length=64)
    hour = models.DateTimeField()
    calls = models.PositiveIntegerField(default=0)
    requests = models.PositiveIntegerField(default=0)  # sent, repeated and doubled ones included
    failures = JsonTextField(default=dict, blank=True)  # class of error -> calls
    latency = JsonTextField(default=dict, blank=True)  # bucket -> answered calls
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cost = models.FloatField(default=0)
    unpriced = models.PositiveIntegerField(default=0)  # answers of which nobody knows the cost
    versions = JsonTextField(default=dict, blank=True)  # exact version of the model that answered -> calls
    shadow = JsonTextField(default=dict, blank=True)  # agreed, differed, failed, skipped -> decisions

    class Meta:
        ordering = ("-hour",)
        constraints = [
            models.UniqueConstraint(fields=("workspace", "provider", "hour"), name="an_hour_of_a_provider_is_one_row")
        ]
