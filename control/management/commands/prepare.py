"""`manage.py prepare`: what `up` does before it serves, for installations whose services are started one by one."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from control import preparation
from control.environment import environment
from control.management.answer import add_data_dir
from control.processes import DEFAULT_HOST, DEFAULT_PORT


class Command(BaseCommand):
    help = "Bring the database up to date and make administrator and key on the first start; needs database and bus."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        add_data_dir(parser)
        parser.add_argument(
            "--url", default=f"http://{DEFAULT_HOST}:{DEFAULT_PORT}", help="the address that first-run.json is to name"
        )
        parser.add_argument("--demo", action="store_true", help="load the demo content")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            preparation.migrate(self.stdout.write)
        except preparation.DatabaseAway as problem:
            raise CommandError(str(problem)) from None
        is_first = preparation.first_content(
            url=options["url"], is_loopback=False, demo=options["demo"], say=self.stdout.write
        )
        if is_first:
            self.stdout.write(f"sign-in and harness key: {environment.data_dir / 'first-run.json'}")
