"""The least that Django Ninja can do: one route without auth or middleware that answers a constant. The peer of http_peer.py.

python -m uvicorn bench.bare_route:application
"""

from __future__ import annotations

import django
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpRequest
from django.urls import path

settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF=__name__, SECRET_KEY="bench", INSTALLED_APPS=[], MIDDLEWARE=[]
)
django.setup()

from ninja import NinjaAPI  # noqa: E402 - needs the settings

api = NinjaAPI()


@api.post("/constant")
async def constant(request: HttpRequest) -> dict[str, str]:
    return {"status": "ok"}


urlpatterns = [path("api/v1/", api.urls)]
application = get_asgi_application()
