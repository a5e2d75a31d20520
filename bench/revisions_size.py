"""How much a thousand revisions of a large registry take: one hint of the demo registry changes in each.

    python bench/revisions_size.py [--revisions 1000]

Prints bytes in the tables of entries and revisions, beside what as many whole documents would take, and the time that one
publication takes at the beginning and at the end. Works in a database of its own.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--revisions", type=int, default=1000)
    wanted = parser.parse_args().revisions
    with tempfile.TemporaryDirectory() as place:
        os.environ |= {
            "SWITCHYARD_DATA_DIR": place,
            "DJANGO_SETTINGS_MODULE": "control.settings",
            "SWITCHYARD_LOG_LEVEL": "ERROR",
        }
        os.environ.pop("DATABASE_URL", None)
        measure(wanted)


def measure(wanted: int) -> None:
    import django

    django.setup()
    import orjson
    from django.core.management import call_command
    from django.db import connection

    from control.demo.documents import default_document
    from routing.models import Entry, Revision
    from routing.models.actor import SYSTEM
    from routing.services import entries, registry, revisions

    call_command("migrate", verbosity=0)
    workspace = registry.create_workspace("bench", by=SYSTEM)
    registry.replace_working_copy(workspace, default_document(), by=SYSTEM)
    whole = len(orjson.dumps(registry.working_document(workspace)))
    took = []
    for number in range(wanted):
        entries.edit(
            workspace,
            "endpoints",
            "git",
            {"use_when": [f"work in a checked-out repository, variant {number}"]},
            by=SYSTEM,
        )
        began = time.perf_counter()
        revisions.publish(workspace, message=f"Variant {number}", by=SYSTEM)
        took.append(time.perf_counter() - began)
    with connection.cursor() as cursor:
        cursor.execute("SELECT SUM(LENGTH(body) + LENGTH(digest)) FROM routing_entry")
        entries = cursor.fetchone()[0]
        cursor.execute("SELECT SUM(LENGTH(manifest)) FROM routing_revision")
        manifests = cursor.fetchone()[0]
    count, rows = Revision.objects.count(), Entry.objects.count()
    stored = entries + manifests
    print(f"{count} revisions of a document of {whole / 1024:.0f} KiB: {rows} entries")
    print(f"stored {stored / 1024:.0f} KiB ({entries / 1024:.0f} entries, {manifests / 1024:.0f} manifests)")
    print(f"whole documents would take {count * whole / 1024:.0f} KiB: {count * whole / stored:.0f} times as much")
    first, last = statistics.median(took[:20]) * 1000, statistics.median(took[-20:]) * 1000
    print(f"one publication: median {first:.0f} ms for the first twenty, {last:.0f} ms for the last twenty")


if __name__ == "__main__":
    main()
