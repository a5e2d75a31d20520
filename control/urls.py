from django.urls import include, path

from control.api.api import api
from control.api.errors import unknown
from control.web import live, metrics, probes

urlpatterns = [
    path("healthz", probes.healthz),
    path("readyz", probes.readyz),
    path("metrics", metrics.metrics),
    path("live/events", live.events, name="live-events"),
    path("api/v1/live/events", live.events),
    path("api/v1/", api.urls),
    path("api/<path:rest>", unknown),
    path("", include("control.web.urls")),
]

handler400 = "control.web.problems.bad_request"
handler403 = "control.web.problems.forbidden"
handler404 = "control.web.problems.not_found"
handler500 = "control.web.problems.server_error"
