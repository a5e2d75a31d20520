"""`manage.py up` among Django's commands; `control.commandline` takes the shorter way to the same function."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from control import up


class Command(BaseCommand):
    help = up.HELP
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        up.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        demo = True if options["demo"] else False if options["empty"] else None
        up.run(host=options["host"], port=options["port"], demo=demo, say=lambda line: print(line, flush=True))
        sys.exit(0)
