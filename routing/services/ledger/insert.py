"""Many rows in one prepared statement.

`bulk_create` has every field look at every value of every row and writes one long statement; for the ledger's writer, the
one place that inserts thousands of rows a minute, that is most of its work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from django.db import connection, models

Prepare = Callable[[Any], Any]
_AS_IT_IS = (models.CharField, models.FloatField, models.IntegerField, models.BooleanField)


def insert(model: type[models.Model], rows: Iterable[Mapping[str, Any]], *, skip_known: bool = False) -> None:
    """Insert rows, each given by its values under the names of columns' attributes (`workspace_id`); the rest by default.

    Texts, numbers and truth values go to the database as they are given, unlike `Model.save`, which would convert them:
    for callers that know what they have. With `skip_known` a row whose key is taken already is left out.
    """
    columns = _columns(model, connection.vendor)
    defaults = {name: prepare(field.get_default()) for name, (field, prepare) in columns.items()}
    values = [
        tuple((defaults | {name: columns[name][1](value) for name, value in row.items()}).values()) for row in rows
    ]
    if not values:
        return
    quote = connection.ops.quote_name
    names = ", ".join(quote(field.column) for field, _ in columns.values())
    places = ", ".join(["%s"] * len(columns))
    sql = f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES ({places})"
    with connection.cursor() as cursor:
        cursor.executemany(sql + (" ON CONFLICT DO NOTHING" if skip_known else ""), values)


@cache
def _columns(model: type[models.Model], vendor: str) -> dict[str, tuple[Any, Prepare]]:
    """Every column that is not numbered by the database: its field, and how a value of it is handed over to this vendor."""
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, models.AutoField)]
    return {field.attname: (field, _prepare(field)) for field in fields}


def _prepare(field: Any) -> Prepare:
    kept = field.target_field if isinstance(field, models.ForeignKey) else field
    if isinstance(kept, _AS_IT_IS):
        return _unchanged
    return lambda value: kept.get_db_prep_save(value, connection)


def _unchanged(value: Any) -> Any:
    return value
