"""Everything that is served over HTTP, as one ASGI application."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from minutebook.config import Settings
from minutebook.features.http.mounts import Mount, Served
from minutebook.features.http.protocols import openapi
from minutebook.features.http.protocols.endpoint import Endpoint
from minutebook.features.http.protocols.operations import operations_route, served_operations
from minutebook.features.http.protocols.rest import plain_routes
from minutebook.features.http.requests.access import AccessControl, AccessMiddleware
from minutebook.features.http.requests.admission import Admission
from minutebook.features.http.requests.authentication import Authenticator
from minutebook.features.http.requests.errors import MCP, refusal
from minutebook.features.http.requests.hosts import AllowedHosts, HostCheck
from minutebook.features.http.settings import HttpSettings
from minutebook.features.http.telemetry.access_log import HEADER, AccessLog
from minutebook.features.http.telemetry.health import health_routes, metrics_route
from minutebook.features.http.telemetry.metrics import Metrics
from minutebook.record.caller import Caller
from minutebook.serve.app_loader import AppLoader
from minutebook.serve.contracts.contract import Contract
from minutebook.serve.dispatch import Dispatcher
from minutebook.serve.limits import Limits
from minutebook.serve.protocol.server import build_server


def application(
    settings: Settings,
    loader: AppLoader,
    contracts: Mapping[str, Contract],
    authenticator: Authenticator,
    names: AllowedHosts,
    leaving: anyio.Event,
    mounts: Sequence[Mount] = (),
) -> Starlette:
    """Return the application that serves each contract at its path, the first at `/mcp` too, and the mounts.

    Streams end when `leaving` is set. The routes of mounts come last, so that none takes a contract's path.
    """
    metrics = Metrics(loader)
    limits = Limits(rate=settings.of(HttpSettings).rate_limit)
    dispatcher = Dispatcher(loader, _caller_of, observer=metrics.observe, limits=limits)
    access = AccessControl(
        loader, authenticator, limits, leaving, needs_token=not names.is_loopback
    )
    guard = [Middleware(AccessMiddleware, access=access)]
    paths = _ContractPaths(contracts, dispatcher, access, is_safe=settings.tool_names == "safe")
    routes: list[BaseRoute] = [
        *health_routes(loader),
        *authenticator.routes(paths.at_mcp),
        *paths.routes(guard),
        metrics_route(metrics, guard),
    ]
    if contracts and not settings.tools:
        operations = served_operations(contracts, read_only=settings.read_only)
        routes.append(operations_route(operations, dispatcher, access, guard))
    served = Served(settings, dispatcher, access)
    routes += [route for mount in mounts for route in mount.routes(served)]

    def end() -> None:
        if loader.is_open:
            access.release(loader().database)

    return Starlette(
        routes=routes,
        lifespan=_lifespan(paths.endpoints.values(), end),
        middleware=_middleware(metrics, names, limits),
        exception_handlers={HTTPException: _not_found},
    )


class _ContractPaths:
    """The paths of contracts, over MCP and as plain operations.

    `endpoints` has the MCP endpoint of each contract by its path; `at_mcp` also the first one at `/mcp`.
    """

    def __init__(
        self,
        contracts: Mapping[str, Contract],
        dispatcher: Dispatcher,
        access: AccessControl,
        *,
        is_safe: bool,
    ) -> None:
        self._contracts = contracts
        self._dispatcher, self._access = dispatcher, access
        self.endpoints = {
            f"{MCP}/{name}": Endpoint(build_server([contract], dispatcher, is_safe), access)
            for name, contract in contracts.items()
        }
        self.at_mcp = dict(self.endpoints)
        if self.endpoints:
            self.at_mcp[MCP] = next(iter(self.endpoints.values()))

    def routes(self, guard: Sequence[Middleware]) -> Iterator[BaseRoute]:
        """Yield the routes, each with the middleware `guard`."""
        for path, endpoint in self.at_mcp.items():
            yield Route(path, endpoint, middleware=guard)
        for contract in filter(openapi.is_offered, self._contracts.values()):
            yield from plain_routes(contract, self._dispatcher, self._access, guard)


def _lifespan(
    endpoints: Iterable[Endpoint], end: Callable[[], None]
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """Return the lifespan that runs the endpoints while the application is served, then calls `end`."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.callback(end)
            for endpoint in endpoints:
                await stack.enter_async_context(endpoint.run())
            yield

    return lifespan


def _middleware(metrics: Metrics, names: AllowedHosts, limits: Limits) -> list[Middleware]:
    """Return the middleware of every request, the outermost first."""
    return [
        Middleware(AccessLog, count=metrics.count),
        Middleware(Admission, queue=limits.turns),
        Middleware(HostCheck, names=names),
        Middleware(
            CORSMiddleware,
            allow_origins=tuple(names.origins),
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=("*",),
            expose_headers=("Mcp-Session-Id", "WWW-Authenticate", "Retry-After", HEADER),
        ),
    ]


def _caller_of(context: Any) -> Caller:
    """Return the caller that AccessMiddleware found for a request."""
    assert isinstance(context.request, Request)
    caller: Caller = context.request.state.caller
    return caller


async def _not_found(request: Request, error: Exception) -> Response:
    """Return the response for a path, or a method of a path, that does not exist."""
    assert isinstance(error, HTTPException)
    reason = f"{request.method} {request.url.path[:200]}: {error.detail}"
    return refusal(request, error.status_code, reason, headers=error.headers)
