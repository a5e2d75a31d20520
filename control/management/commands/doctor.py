"""`manage.py doctor`: what is wrong with this installation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from control import doctor
from control.management.answer import AnswerCommand
from control.processes import DEFAULT_HOST, DEFAULT_PORT
from control.up import port_number


class Command(AnswerCommand):
    help = "Name what is wrong with this installation; exit status 1 when something is."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--host", default=DEFAULT_HOST, help=f"address that `up` is to use (default: {DEFAULT_HOST})"
        )
        parser.add_argument(
            "--port", type=port_number, default=DEFAULT_PORT, help=f"port that `up` is to use (default: {DEFAULT_PORT})"
        )

    def needs_installation(self, options: Mapping[str, Any]) -> bool:
        return False  # to say what is missing is its purpose

    def handle(self, *args: Any, **options: Any) -> None:
        checks = doctor.examine(host=options["host"], port=options["port"])
        ok = all(check.ok for check in checks)
        width = max(len(check.name) for check in checks)
        lines = [f"{'ok ' if check.ok else 'BAD'}  {check.name:<{width}}  {check.message}" for check in checks]
        lines.append("Nothing is wrong." if ok else "Something is wrong: see the lines marked BAD.")
        result = {
            "ok": ok,
            "checks": [{"name": check.name, "ok": check.ok, "message": check.message} for check in checks],
        }
        self.answer(options, result, "\n".join(lines), ok=ok)
