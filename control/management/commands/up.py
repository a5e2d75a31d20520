"""`manage.py up`: the whole installation as one process tree."""

from __future__ import annotations

import os
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from control import up
from control.processes import DEFAULT_HOST, DEFAULT_PORT, NoBus
from control.supervisor import CannotStart


class Command(BaseCommand):
    help = "Run everything: web, workers, scheduler and the embedded bus, until Ctrl-C or SIGTERM."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default=DEFAULT_HOST, help=f"address to listen on (default: {DEFAULT_HOST})")
        parser.add_argument(
            "--port",
            type=_port,
            default=DEFAULT_PORT,
            help=f"port to listen on, 0 for any free one (default: {DEFAULT_PORT})",
        )
        # Taken out of the arguments before Django loads (control.commandline); named here for --help.
        parser.add_argument(
            "--data-dir", help="where database, bus, logs and secrets lie (default: .switchyard in the checkout)"
        )
        demo = parser.add_mutually_exclusive_group()
        demo.add_argument(
            "--demo", action="store_true", help="load the demo content, also into an installation that has none"
        )
        demo.add_argument("--empty", action="store_true", help="load no demo content on the first start")

    def handle(self, *args: Any, **options: Any) -> None:
        demo = True if options["demo"] else False if options["empty"] else None
        try:
            up.run(host=options["host"], port=options["port"], demo=demo, say=self._say)
        except (up.Refused, NoBus, CannotStart) as problem:
            raise CommandError(str(problem)) from None
        # Django's threads and pools have nothing left to do.
        sys.stdout.flush()
        os._exit(0)

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65535:
        raise ValueError
    return number
