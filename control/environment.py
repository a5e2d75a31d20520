"""The environment, read once and typed: what may be set from outside, its default and its meaning.

Every field here is one row of docs/settings.md; a test compares the two.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
import secrets
import tempfile
from functools import cached_property
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from pydantic import Field, PrivateAttr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from control.place import Refused

CHECKOUT = Path(__file__).resolve().parent.parent
# A unix socket's address may hold 108 bytes on Linux and 104 on macOS, its closing zero included.
SOCKET_PATH_LIMIT = 100
SECRET_KEY_LENGTH = 32
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_FERNET_KEY = re.compile(r"[A-Za-z0-9_+/-]{43}=")


class Environment(BaseSettings):
    """Typed settings of an installation. A value that cannot be read is refused at start, by name."""

    model_config = SettingsConfigDict(extra="ignore", populate_by_name=True, env_ignore_empty=True)
    _only_looks: bool = PrivateAttr(False)

    data_dir: Path = Field(
        CHECKOUT / ".switchyard",
        alias="SWITCHYARD_DATA_DIR",
        description="Where the database, bus, logs and secrets lie.",
    )
    database_url: str = Field("", alias="DATABASE_URL", description="postgresql://…; empty: SQLite in the data dir.")
    redis_url: str = Field("", alias="REDIS_URL", description="redis://…; empty: the embedded bus in the data dir.")
    public_url: str = Field(
        "",
        alias="SWITCHYARD_PUBLIC_URL",
        description="Address that people and harnesses use, when it differs from host and port.",
    )
    allowed_hosts: str = Field(
        "localhost,127.0.0.1,[::1]",
        alias="SWITCHYARD_ALLOWED_HOSTS",
        description="Host names that requests may carry, separated by commas; `up` adds its own --host.",
    )
    secret_key: str = Field(
        "",
        alias="SWITCHYARD_SECRET_KEY",
        description="Signs sessions and digests, at least 32 characters; empty: made at random in the data dir.",
        repr=False,
    )
    encryption_keys: str = Field(
        "",
        alias="SWITCHYARD_ENCRYPTION_KEYS",
        description="Fernet keys for texts at rest, newest first, separated by commas; empty: made at random in the data dir.",
        repr=False,
    )
    secure_cookies: bool = Field(
        False,
        alias="SWITCHYARD_SECURE_COOKIES",
        description="Cookies travel over https only; set it behind a TLS proxy.",
    )
    log_level: str = Field("INFO", alias="SWITCHYARD_LOG_LEVEL", description="DEBUG, INFO, WARNING or ERROR.")
    web_processes: int = Field(
        1, ge=1, le=32, alias="SWITCHYARD_WEB_PROCESSES", description="Web processes that `up` starts."
    )
    decide_threads: int = Field(
        8,
        ge=1,
        le=256,
        alias="SWITCHYARD_DECIDE_THREADS",
        description="Threads of the worker that decides routes, beside the one for those that wait for no provider.",
    )
    search_processes: int = Field(
        2,
        ge=1,
        le=64,
        alias="SWITCHYARD_SEARCH_PROCESSES",
        description="Processes of the worker that runs look-ahead searches.",
    )
    snapshot_poll_s: float = Field(
        0.25,
        ge=0,
        le=60,
        alias="SWITCHYARD_SNAPSHOT_POLL_S",
        description="Seconds between looks for a new revision or key in each process; 0: look at every use.",
    )
    deep_budget_ms: int = Field(
        150,
        ge=0,
        le=10_000,
        alias="SWITCHYARD_DEEP_BUDGET_MS",
        description="Milliseconds that an answer waits for the deep tier before the static one stands; 0: never asked.",
    )
    source_roots: str = Field(
        "",
        alias="SWITCHYARD_SOURCE_ROOTS",
        description="Directories, separated by colons, in which a file may be named as a registry's source of truth; empty: none.",
    )
    debug: bool = Field(
        False, alias="SWITCHYARD_DEBUG", description="Django's debug pages; never on a server that others reach."
    )

    @field_validator("data_dir")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return value.expanduser().absolute()

    @field_validator("database_url")
    @classmethod
    def _names_a_postgresql_database(cls, value: str) -> str:
        parts = _split(value)
        if value and (parts is None or parts.scheme not in ("postgresql", "postgres") or not parts.path.strip("/")):
            raise ValueError(
                "must be postgresql://user:password@host:port/database (or empty, for SQLite in the data dir)"
            )
        return value

    @field_validator("redis_url")
    @classmethod
    def _names_a_redis(cls, value: str) -> str:
        parts = _split(value)
        place = parts and (parts.path if parts.scheme == "unix" else parts.hostname)
        if value and (parts is None or parts.scheme not in ("redis", "rediss", "unix") or not place):
            raise ValueError(
                "must be redis://host:port/number, rediss://… or unix:///path (or empty, for the embedded bus)"
            )
        return value

    @field_validator("public_url")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        parts = _split(value)
        if value and (parts is None or parts.scheme not in ("http", "https") or not parts.hostname):
            raise ValueError("must be http://host or https://host, with a port where it needs one")
        return value.rstrip("/")

    @field_validator("allowed_hosts")
    @classmethod
    def _names_a_host(cls, value: str) -> str:
        return value if value.strip(", ") else str(cls.model_fields["allowed_hosts"].default)

    @field_validator("source_roots")
    @classmethod
    def _are_absolute(cls, value: str) -> str:
        if any(not Path(one).expanduser().is_absolute() for one in value.split(":") if one):
            raise ValueError("must name directories by their whole paths, separated by colons")
        return value

    @field_validator("secret_key")
    @classmethod
    def _is_long_enough(cls, value: str) -> str:
        if value and len(value) < SECRET_KEY_LENGTH:
            raise ValueError(f"is shorter than {SECRET_KEY_LENGTH} characters")
        return value

    @field_validator("encryption_keys")
    @classmethod
    def _are_fernet_keys(cls, value: str) -> str:
        keys = [key.strip() for key in value.split(",") if key.strip()]
        wrong = [number for number, key in enumerate(keys, 1) if not _FERNET_KEY.fullmatch(key)]
        if wrong or (value and not keys):
            raise ValueError(
                f"number {wrong[0] if wrong else 1} is no Fernet key: 32 random bytes in URL-safe Base64, 44 characters"
            )
        return ",".join(keys)

    @field_validator("log_level")
    @classmethod
    def _is_a_level(cls, value: str) -> str:
        if value.upper() not in LOG_LEVELS:
            raise ValueError(f"must be one of {', '.join(LOG_LEVELS)}")
        return value.upper()

    @cached_property
    def bus_socket(self) -> Path:
        """Where the embedded bus listens: in the data dir, or at a short path of its own when that is too long."""
        inside = self.data_dir / "run" / "bus.sock"
        if len(os.fsencode(inside)) <= SOCKET_PATH_LIMIT:
            return inside
        mark = hashlib.sha256(os.fsencode(self.data_dir)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"switchyard-{os.getuid()}-{mark}" / "bus.sock"

    @property
    def bus_url(self) -> str:
        """Address of the bus for redis-py."""
        return self.redis_url or f"unix://{self.bus_socket}?db=0"

    @property
    def broker_url(self) -> str:
        """Address of the bus as Celery spells it."""
        if self.redis_url.startswith("unix:"):
            return self.redis_url.replace("unix:", "redis+socket:", 1).replace("db=", "virtual_host=", 1)
        return self.redis_url or f"redis+socket://{self.bus_socket}?virtual_host=0"

    @property
    def hosts(self) -> list[str]:
        return [host.strip() for host in self.allowed_hosts.split(",") if host.strip()]

    @property
    def source_directories(self) -> list[Path]:
        """Below which a file may be named as a registry's source of truth."""
        return [Path(one).expanduser() for one in self.source_roots.split(":") if one]

    @property
    def database_place(self) -> str:
        """Where the database of DATABASE_URL is, without who may enter."""
        parts = urlsplit(self.database_url)
        return f"{parts.netloc.rpartition('@')[2] or 'this machine'}{parts.path}"

    def only_look(self) -> None:
        """Write nothing into the data dir from now on: a command that looks must not begin an installation."""
        self._only_looks = True

    @property
    def has_secrets(self) -> bool:
        """Whether this installation's secrets are known, rather than to be made."""
        return bool(self.secret_key and self.encryption_keys) or (self.data_dir / "secrets.json").exists()

    def secret(self, name: str) -> str:
        """A secret of this installation: from the environment, else made once in `<data-dir>/secrets.json` (mode 0600)."""
        given = {"secret_key": self.secret_key, "encryption_keys": self.encryption_keys}[name]
        return given or self._stored_secrets[name]

    @cached_property
    def _stored_secrets(self) -> dict[str, str]:
        path = self.data_dir / "secrets.json"
        with contextlib.suppress(FileNotFoundError):
            return _read_secrets(path)
        made = {
            "secret_key": secrets.token_urlsafe(48),
            "encryption_keys": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
        }
        if self._only_looks:
            return made
        self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _write_once(path, made)


def _split(url: str) -> SplitResult | None:
    """The parts of an address; None when it is none, a port out of range included."""
    try:
        parts = urlsplit(url)
        return None if re.search(r"\s", url) or parts.port == 0 else parts
    except ValueError:
        return None


def _read_secrets(path: Path) -> dict[str, str]:
    try:
        stored = json.loads(path.read_text())
        return {name: str(stored[name]) for name in ("secret_key", "encryption_keys")}
    except FileNotFoundError:
        raise
    except (OSError, ValueError, LookupError, TypeError):
        raise Refused(
            f"{path} cannot be read: put a copy back; without it all sessions end and all harness keys are unknown"
        ) from None


def _write_once(path: Path, content: dict[str, str]) -> dict[str, str]:
    """Write a file that only its owner reads; when another process was first, its content counts."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(content, file)
    try:
        os.link(draft, path)
    except FileExistsError:
        return _read_secrets(path)
    finally:
        draft.unlink()
    return content


environment = Environment()
