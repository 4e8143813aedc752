"""The health of the server: alive, ready, metrics."""

from collections.abc import Sequence

from anyio import CapacityLimiter, to_thread
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from minutebook.features.http.requests.errors import refusal
from minutebook.features.http.telemetry.metrics import CONTENT_TYPE, Metrics
from minutebook.memory.jobs import JobRun
from minutebook.record.policy import may_read_metrics
from minutebook.serve.app_loader import AppLoader, NotOpen


def health_routes(loader: AppLoader) -> list[BaseRoute]:
    """Return the routes `/healthz` and `/readyz`, which need no token.

    The server is alive but not ready while its database cannot be reached or written. `/readyz` names failing jobs.
    """
    # A thread of its own: those of calls may all be waiting for the database.
    probing = CapacityLimiter(1)

    async def alive(request: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def ready(request: Request) -> Response:
        found = loader.find()
        if isinstance(found, NotOpen):
            store, model = "opening" if found.error is None else "failed", "loading"
            failing = list[JobRun]()
        else:
            store = await to_thread.run_sync(found.database.state, limiter=probing)
            model = found.embedding.state
            failing = await to_thread.run_sync(found.job_runs.failing, limiter=probing)
        # Without a model, search works by words only: the server is ready.
        is_ready = store == "open" and model != "loading"
        is_waiting = store in ("unreachable", "unwritable")
        status = "ready" if is_ready else "waiting" if is_waiting else "starting"
        body = {"status": status, "store": store, "model": model}
        body |= {"failing": ", ".join(each.job for each in failing)} if failing else {}
        return JSONResponse(body, 200 if is_ready else 503)

    return [Route("/healthz", alive), Route("/readyz", ready)]


def metrics_route(metrics: Metrics, middleware: Sequence[Middleware]) -> Route:
    """Return the route `/metrics` with some middleware, for admins of all organizations."""

    def written(request: Request) -> Response:
        if not may_read_metrics(request.state.caller):
            return refusal(request, 403, _NOT_AN_OPERATOR)
        return Response(metrics.written(), media_type=CONTENT_TYPE)

    return Route("/metrics", written, middleware=middleware)


_NOT_AN_OPERATOR = (
    "This token may not read the figures of all organizations; make one with "
    "`minutebook token create --role admin --all-organizations`"
)
