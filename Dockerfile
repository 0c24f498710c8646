# The service as an image. Its data are in the volume /var/lib/truelift; docs/containers.md says how to run it.
ARG PYTHON_IMAGE=python:3.11-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
ARG UV_VERSION=0.13.9
# The image's own Python: nothing is downloaded but packages, in the versions of uv.lock.
ENV UV_PYTHON_DOWNLOADS=never \
    UV_LINK_MODE=copy \
    UV_COMPILE_BYTECODE=1 \
    UV_NO_CACHE=1 \
    UV_PROJECT_ENVIRONMENT=/opt/truelift
RUN python3 -m venv /opt/uv && /opt/uv/bin/pip install --no-cache-dir "uv==${UV_VERSION}"
WORKDIR /build
# Packages first: a layer that stays as long as the lock file does.
COPY pyproject.toml uv.lock ./
RUN /opt/uv/bin/uv sync --frozen --no-install-project --extra postgres --extra redis --extra lakes
COPY . .
RUN /opt/uv/bin/uv sync --frozen --no-editable --extra postgres --extra redis --extra lakes

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="Truelift" \
      org.opencontainers.image.licenses="Apache-2.0"
# A number, so that a cluster can see that it is not root.
RUN useradd --system --uid 10001 --home-dir /var/lib/truelift truelift \
 && install --directory --owner=truelift --group=truelift --mode=0700 /var/lib/truelift
COPY --from=build /opt/truelift /opt/truelift
ENV PATH=/opt/truelift/bin:$PATH \
    PYTHONUNBUFFERED=1
USER 10001
WORKDIR /var/lib/truelift
VOLUME ["/var/lib/truelift"]
EXPOSE 8000
# 503 once the warehouse has not opened for a minute: only then does a restart help.
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 \
  CMD ["python3", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["truelift"]
CMD ["serve", "--data-dir", "/var/lib/truelift", "--host", "0.0.0.0", "--port", "8000"]
