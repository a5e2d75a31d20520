"""`manage.py check FILE`: is this registry document sound, and does it do what it expects of itself? Needs no database.

Without FILE it is Django's own check of the project.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from django.core.management.base import CommandParser
from django.core.management.commands.check import Command as ProjectCheck

from control.management.answer import add_data_dir
from control.management.files import read_file
from routing.engine import load_registry
from routing.engine.expectations import run_expectations
from routing.formats import read


class Command(ProjectCheck):
    help = (
        "Validate a registry document and run its expectations; needs no database (for Git hooks and CI). "
        "Without FILE: Django's own checks of the project. Exit status: 0 sound, 1 not, 2 bad usage."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one line of JSON")
        add_data_dir(parser)
        super().add_arguments(parser)
        # Django's check takes names of apps in this place; a name of an app is never a path of a document.
        for action in parser._actions:
            if action.dest == "args":
                action.metavar = "FILE"
                action.help = "registry document (YAML, TOML or JSON; - for standard input)"

    def handle(self, *labels: Any, **options: Any) -> None:
        if len(labels) != 1:
            super().handle(*labels, **options)
            return
        result = check_document(read_file(labels[0]), None if labels[0] == "-" else labels[0])
        self.stdout.write(json.dumps(result, ensure_ascii=False) if options["json"] else told(result))
        if not result["ok"]:
            self.stdout.flush()
            sys.exit(1)


def check_document(content: bytes, filename: str | None) -> dict[str, Any]:
    found = read(content, filename=filename)
    result: dict[str, Any] = {
        "ok": not found.problems,
        "problems": list(found.problems),
        "warnings": list(found.warnings),
        "expectations": {"passed": 0, "failed": []},
    }
    if found.document is not None:
        report = run_expectations(load_registry(found.document))
        result["ok"] = not report.failed
        result["expectations"] = {"passed": report.passed, "failed": [dict(one) for one in report.failed]}
    return result


def told(result: dict[str, Any]) -> str:
    lines = [f"{problem['path'] or 'document'}: {problem['message']}" for problem in result["problems"]]
    lines += [f"warning  {warning['path']}: {warning['message']}" for warning in result["warnings"]]
    failed = result["expectations"]["failed"]
    lines += [f"expectation {one['name']!r} is not met: {', '.join(one['differs'])}" for one in failed]
    if result["problems"]:
        return "\n".join([*lines, f"Not valid; problems: {len(result['problems'])}."])
    passed = result["expectations"]["passed"]
    return "\n".join([*lines, f"The document is valid. Expectations: {passed} met, {len(failed)} not."])
