"""A registry document as a file to keep, in the canonical form: the same document is the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse

from routing.formats import write_json, write_yaml

_WRITERS = {
    "yaml": (write_yaml, "application/yaml; charset=utf-8"),
    "json": (write_json, "application/json; charset=utf-8"),
}


def document(document: Mapping[str, Any], form: str, name: str) -> HttpResponse:
    """`form` is yaml or json; `name` is the file's, without its ending."""
    write, kind = _WRITERS[form]
    response = HttpResponse(write(document), content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return response
