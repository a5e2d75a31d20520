# One image for web, workers and scheduler; docker-compose.yml says which of them a container is.
FROM python:3.11-slim

ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    SWITCHYARD_DATA_DIR=/var/lib/switchyard \
    DJANGO_SETTINGS_MODULE=control.settings

WORKDIR /opt/switchyard

# The packages first: they change less often than the code.
COPY requirements.lock ./
RUN pip install --no-cache-dir --require-hashes -r requirements.lock

# Which commit a registry's source of truth lies in is asked of Git.
RUN apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/* \
    && git config --system --add safe.directory /srv/registry

COPY . .
RUN python -m compileall -q control routing \
    && python -m control.launch \
    && useradd --system --home-dir /var/lib/switchyard --create-home switchyard \
    && chmod 700 /var/lib/switchyard

USER switchyard
VOLUME /var/lib/switchyard
EXPOSE 8700

CMD ["uvicorn", "control.asgi:application", "--no-access-log", "--no-server-header", "--timeout-graceful-shutdown", "3", "--host", "0.0.0.0", "--port", "8700"]
