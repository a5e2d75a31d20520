"""The statements that every decision of a worker goes through, each written once.

The ORM writes a statement anew each time, which takes several times as long as the database needs to run it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from django.db import connection

from routing.models import Decision

TABLE = Decision._meta.db_table


def select(names: Sequence[str], decision_ids: Sequence[Any]) -> list[Decision]:
    """These columns of these decisions; the others are fetched when they are asked for."""
    columns = ", ".join(names)
    return _rows(names, f"SELECT {columns} FROM {TABLE} WHERE id IN ({_places(decision_ids)})", _ids(decision_ids))


def update_returning(
    names: Sequence[str], changes: Mapping[str, Any], decision_ids: Sequence[Any], *, state: str
) -> list[Decision]:
    """Change those of these decisions that are in this state; returns these columns of them, as `select` does."""
    sql = f"UPDATE {TABLE} SET {_setting(tuple(changes))} WHERE id IN ({_places(decision_ids)}) AND state = %s"
    parameters = [*_values(changes), *_ids(decision_ids), state]
    return _rows(names, f"{sql} RETURNING {', '.join(names)}", parameters)


def update_claimed(row: Decision, changes: Mapping[str, Any], *, state: str) -> bool:
    """Change a decision that is in this state under the claim that its row has; false when it is not."""
    sql = f"UPDATE {TABLE} SET {_setting(tuple(changes))} WHERE id = %s AND state = %s AND claim = %s"
    with connection.cursor() as cursor:
        cursor.execute(sql, [*_values(changes), *_ids([row.pk]), state, _value("claim", row.claim)])
        return bool(cursor.rowcount)


def _rows(names: Sequence[str], sql: str, parameters: Sequence[Any]) -> list[Decision]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        found = cursor.fetchall()
    convert = _converters(tuple(names), connection.vendor)
    return [
        Decision.from_db(
            connection.alias, names, [_converted(value, *how) for value, how in zip(values, convert, strict=True)]
        )
        for values in found
    ]


@cache
def _converters(names: tuple[str, ...], vendor: str) -> list[tuple[Any, list[Any]]]:
    """How this vendor's values of these columns become Python's."""
    columns = [Decision._meta.get_field(name).get_col(TABLE) for name in names]  # type: ignore[union-attr]
    return [
        (column, [*connection.ops.get_db_converters(column), *column.get_db_converters(connection)])
        for column in columns
    ]


def _converted(value: Any, column: Any, converters: Sequence[Any]) -> Any:
    for converter in converters:
        value = converter(value, column, connection)
    return value


@cache
def _setting(names: tuple[str, ...]) -> str:
    return ", ".join(f"{Decision._meta.get_field(name).column} = %s" for name in names)  # type: ignore[union-attr]


def _values(changes: Mapping[str, Any]) -> list[Any]:
    return [_value(name, value) for name, value in changes.items()]


def _value(name: str, value: Any) -> Any:
    return Decision._meta.get_field(name).get_db_prep_save(value, connection)  # type: ignore[union-attr]


def _ids(decision_ids: Sequence[Any]) -> list[Any]:
    return [_value("id", one) for one in decision_ids]


def _places(values: Sequence[Any]) -> str:
    return ", ".join(["%s"] * len(values))
