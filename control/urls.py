from django.urls import include, path

from control.api.api import api
from control.api.errors import unknown
from control.web import live, probes

urlpatterns = [
    path("healthz", probes.healthz),
    path("readyz", probes.readyz),
    path("live/events", live.events, name="live-events"),
    path("api/v1/live/events", live.events),
    path("api/v1/", api.urls),
    path("api/<path:rest>", unknown),
    path("", include("control.web.urls")),
]
