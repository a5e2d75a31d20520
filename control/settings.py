"""Django's settings. What an installation may choose comes from `control.environment`; the rest is fixed here."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from control.environment import CHECKOUT, environment

# --- Core -----------------------------------------------------------------------------------------------------------
BASE_DIR = CHECKOUT
DATA_DIR = environment.data_dir
DEBUG = environment.debug
SECRET_KEY = environment.secret("secret_key")
ENCRYPTION_KEYS = [key for key in environment.secret("encryption_keys").split(",") if key]
ALLOWED_HOSTS = environment.hosts
PUBLIC_URL = environment.public_url
ROOT_URLCONF = "control.urls"
ASGI_APPLICATION = "control.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATA_UPLOAD_MAX_MEMORY_SIZE = 17 * 1024 * 1024  # the API bounds each call itself, registry documents at 16 MiB
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "template_partials",
    "axes",
    "routing.apps.RoutingConfig",
    "control.apps.ControlConfig",
]

# The API never needs a session: `console_only` lets its requests pass these without a hop to a thread.
MIDDLEWARE = [
    "control.middleware.request_id",
    "control.middleware.audit_origin",
    "control.middleware.security_headers",
    "control.middleware.method_errors",
    "control.middleware.refused_edits",
    "control.middleware.static_files",
    "control.middleware.console_session",
    "control.middleware.console_common",
    "control.middleware.console_csrf",
    "control.middleware.console_authentication",
    "control.middleware.console_messages",
    "control.middleware.console_htmx",
    "control.middleware.console_throttle",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "control.web.context.frame",
            ],
        },
    }
]


# --- Database -------------------------------------------------------------------------------------------------------
def _sqlite() -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(DATA_DIR / "switchyard.sqlite3"),
        "OPTIONS": {
            # Several processes write: take the write lock at BEGIN and wait for it, instead of failing half way.
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16000;",
        },
        "TEST": {"NAME": str(DATA_DIR / "test.sqlite3")},
    }


def _postgresql(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    # Without a pool an ASGI process spends half its time on connecting.
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"pool": {"min_size": 0, "max_size": 12, "timeout": 10}, **options},
    }


DATABASES = {"default": _postgresql(environment.database_url) if environment.database_url else _sqlite()}

# --- Bus and workers ------------------------------------------------------------------------------------------------
BUS_URL = environment.bus_url
SNAPSHOT_POLL_S = environment.snapshot_poll_s
ENCODER_DIR = DATA_DIR / "encoder"
DEEP_BUDGET_S = environment.deep_budget_ms / 1000

CELERY_BROKER_URL = environment.broker_url
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_DEFAULT_QUEUE = "decide"
CELERY_TASK_ROUTES = {
    "routing.tasks.write_ledger": {"queue": "ledger"},
    "routing.tasks.sweep": {"queue": "ledger"},
    "routing.tasks.recalibrate": {"queue": "ledger"},
    "routing.tasks.publish_due": {"queue": "ledger"},
    "routing.tasks.purge_recordings": {"queue": "ledger"},
    "routing.tasks.run_search": {"queue": "search"},
    "routing.tasks.run_replay": {"queue": "search"},
    "routing.tasks.check_sources": {"queue": "search"},  # a large document takes seconds to read
    "routing.tasks.check_draft": {"queue": "search"},
    "routing.tasks.examine": {"queue": "search"},  # of ten thousand tools it takes seconds
    "routing.tasks.make_vectors": {"queue": "search"},  # it may take minutes, and nobody waits for it
}
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # No list of what is being worked on is kept on the bus, two transactions for each message: rows are the promise, and what a
    # worker took along when it died is found by their claims long before such a list is read again.
    "ack_emulation": False,
    "socket_connect_timeout": 2,
    "socket_timeout": 30,
    "global_keyprefix": "switchyard:",
}
CELERY_TASK_PUBLISH_RETRY = False
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "routing.tasks.sweep", "schedule": 1.0, "options": {"queue": "ledger", "expires": 5}},
    # Costs one read of an index that holds what waits and no more.
    "publish_due": {
        "task": "routing.tasks.publish_due",
        "schedule": 2.0,
        "options": {"queue": "ledger", "expires": 10},
    },
    # Costs one read of an index that holds the canaries that run and no more.
    "watch_canaries": {
        "task": "routing.tasks.watch_canaries",
        "schedule": 5.0,
        "options": {"queue": "ledger", "expires": 10},
    },
    # Costs one read of a short table where no workspace has enough new outcomes.
    "recalibrate": {
        "task": "routing.tasks.recalibrate",
        "schedule": 60.0,
        "options": {"queue": "ledger", "expires": 50},
    },
    # Costs one read of an index where nothing's time is over.
    "purge_recordings": {
        "task": "routing.tasks.purge_recordings",
        "schedule": 60.0,
        "options": {"queue": "ledger", "expires": 50},
    },
    # Costs one read of an index where no shadow policy scores.
    "end_shadow_policies": {
        "task": "routing.tasks.end_shadow_policies",
        "schedule": 5.0,
        "options": {"queue": "ledger", "expires": 5},
    },
    # Costs one read of a short table where no workspace is kept in a file, and a look at the file's age where one is.
    "check_sources": {
        "task": "routing.tasks.check_sources",
        "schedule": 15.0,
        "options": {"queue": "search", "expires": 14},
    },
    "forget_old": {
        "task": "routing.tasks.forget_old",
        "schedule": 600.0,
        "options": {"queue": "ledger", "expires": 500},
    },
}

# --- Source of truth ------------------------------------------------------------------------------------------------
SOURCE_ROOTS = environment.source_directories

# --- Sign-in --------------------------------------------------------------------------------------------------------
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "/"
SESSION_COOKIE_NAME = "switchyard_session"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = environment.secure_cookies
SESSION_COOKIE_AGE = 60 * 60 * 12
CSRF_COOKIE_NAME = "switchyard_csrf"
CSRF_COOKIE_HTTPONLY = True
CSRF_TRUSTED_ORIGINS = ["{0.scheme}://{0.netloc}".format(urlsplit(PUBLIC_URL))] if PUBLIC_URL else []
CSRF_FAILURE_VIEW = "control.web.problems.csrf_failure"
X_FRAME_OPTIONS = "DENY"
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
AXES_LOCKOUT_CALLABLE = "control.web.session.locked_out"

# --- Static files ---------------------------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = None  # files are served from where they lie
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_MAX_AGE = 60

# --- Logs: one line each, without query strings, never with the text of a request --------------------------------------
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": environment.log_level},
    "loggers": {
        "axes": {"level": "ERROR"},
        "django.db.backends": {"level": "WARNING"},
        "django.request": {"level": "ERROR"},
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},
    },
}
