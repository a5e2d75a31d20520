"""Fields and lookups of our own.

JSON is kept as text: the order of keys survives on every database, and the bytes that were hashed are the bytes that are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from django.db import models

# Only the type checker knows fields and lookups by what they take and give.
if TYPE_CHECKING:
    TextField = models.TextField[Any, Any]
    Lookup = models.Lookup[Any]
else:
    TextField, Lookup = models.TextField, models.Lookup


class JsonTextField(TextField):
    """A JSON value as text. Numbers, order of keys and non-ASCII come back as they went in."""

    _pyi_private_set_type: Any
    _pyi_private_get_type: Any
    _pyi_lookup_exact_type: Any

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> Any:
        return None if value is None else orjson.loads(value)

    def to_python(self, value: Any) -> Any:
        return value

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else orjson.dumps(value).decode()

    def value_to_string(self, obj: models.Model) -> str:
        return self.get_prep_value(self.value_from_object(obj)) or "null"


@JsonTextField.register_lookup
class HasWord(Lookup):
    """`codes__has_word="score_tie"`: whether a list of plain words holds this one."""

    lookup_name = "has_word"

    def get_prep_lookup(self) -> str:
        return '%"' + str(self.rhs).replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + '"%'

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        lhs, params = self.process_lhs(compiler, connection)
        return f"{lhs} LIKE %s ESCAPE '\\'", (*params, self.rhs)


@models.CharField.register_lookup
class Begins(Lookup):
    """`target__begins="notes__"`: whether a text that is not empty begins so, letter by letter.

    SQLite finds these by an index, which its LIKE cannot use. Elsewhere an index may be in the order of a language, where what
    begins alike need not stand together.
    """

    lookup_name = "begins"

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        lhs, params = self.process_lhs(compiler, connection)
        start = str(self.rhs).replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return f"{lhs} LIKE %s ESCAPE '\\'", (*params, f"{start}%")

    def as_sqlite(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        lhs, params = self.process_lhs(compiler, connection)
        start = str(self.rhs)
        return f"({lhs} >= %s AND {lhs} < %s)", (*params, start, *params, start[:-1] + chr(ord(start[-1]) + 1))
