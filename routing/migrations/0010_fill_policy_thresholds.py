"""Thresholds that policies already give go into their columns."""

from __future__ import annotations

from typing import Any

from django.db import migrations

NAMES = ("direct_execution_threshold", "fallback_threshold")


def fill(apps: Any, schema_editor: Any) -> None:
    for row in apps.get_model("routing", "PolicyRow").objects.all():
        router = row.details.get("router", {})
        for name in NAMES:
            setattr(row, name, router.get(name))
        row.save(update_fields=NAMES)


class Migration(migrations.Migration):
    dependencies = [("routing", "0009_policy_thresholds")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
