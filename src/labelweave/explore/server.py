"""The explorer's server, reachable only from this machine and with the token in the link."""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from typing import Any

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from labelweave.evaluation import Comparison
from labelweave.explore.session import Session
from labelweave.explore.views import (
    DECISIONS,
    MATRICES,
    ORDERS,
    label_curves,
    label_list,
    label_matrix,
    model_name,
    model_view,
    row_answer,
    row_list,
    why,
)
from labelweave.joint.distribution import Evidence
from labelweave.models.explanations import can_explain

_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_HEADERS = {
    # The page uses only its own files and its own server, even if a label's name contains HTML.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_MOST_MATRIX_LABELS = 100


class BadQuestionError(ValueError):
    """The page asks for something that does not exist."""


class Explorer:
    """The web application that shows a session; every request must send its token."""

    def __init__(self, session: Session, comparison: Comparison | None) -> None:
        self.session, self.comparison = session, comparison
        self.token = secrets.token_urlsafe(16)
        routes = [
            Route("/", lambda _: _file("index.html")),
            Route("/static/{name}", lambda request: _file(request.path_params["name"])),
            self._api("/api/summary", self._summary),
            self._api("/api/rows", self._rows),
            self._api("/api/row/{row}", self._row),
            self._api("/api/row/{row}/why", self._why),
            self._api("/api/labels", lambda _: label_list(self.session)),
            self._api("/api/matrix", self._matrix),
            self._api("/api/label/{label}", self._label),
            self._api("/api/model", lambda _: model_view(self.session, self.comparison)),
        ]
        # This rejects pages of other hosts whose names resolve to this machine (DNS rebinding).
        hosts = Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
        self.app = Starlette(routes=routes, middleware=[hosts])

    def _api(self, path: str, answer: Callable[[Request], dict[str, Any]]) -> Route:
        """Return a route that answers with JSON; starlette runs it in a thread."""

        def respond(request: Request) -> Response:
            given = request.headers.get("x-labelweave-token", "")
            if not secrets.compare_digest(given.encode(), self.token.encode()):
                return _json({"error": "the link lacks its token: use the one printed"}, 403)
            try:
                return _json(answer(request))
            except BadQuestionError as error:
                return _json({"error": str(error)}, 404)
            except ValueError as error:
                return _json({"error": str(error)}, 409)

        return Route(path, respond)

    def _summary(self, _: Request) -> dict[str, Any]:
        session = self.session
        has_truth = session.truth is not None
        return {
            "data": session.name,
            "model": model_name(session.model),
            "settings": " ".join(repr(session.model).split()),
            "n_rows": session.n_rows,
            "n_features": int(session.X.shape[1]),
            "n_labels": session.n_labels,
            "labels": session.label_names,
            "has_truth": has_truth,
            "ready": session.ready(session.done),
            "failure": session.failure,
            "orders": [
                {"name": name, "title": title}
                for name, title in ORDERS.items()
                if has_truth or name != "error"
            ],
            "decisions": [
                {"name": name, "title": title, "measure": measure}
                for name, (title, measure) in DECISIONS.items()
            ],
            "can_explain": can_explain(session.model),
            "has_comparison": self.comparison is not None,
        }

    def _rows(self, request: Request) -> dict[str, Any]:
        query = request.query_params
        order = _one_of(query.get("order", "number"), ORDERS, "order")
        start, count = _number(query.get("start", "0")), _number(query.get("count", "100"))
        descending = query.get("descending") == "1"
        return row_list(self.session, start, count, order, descending, query.get("search", ""))

    def _row(self, request: Request) -> dict[str, Any]:
        decision = _one_of(request.query_params.get("decision", "subset"), DECISIONS, "decision")
        return row_answer(self.session, self._row_number(request), self._fixed(request), decision)

    def _why(self, request: Request) -> dict[str, Any]:
        label = self._label_number(request.query_params.get("label", ""))
        return why(self.session, self._row_number(request), label, self._fixed(request))

    def _matrix(self, request: Request) -> dict[str, Any]:
        kind = _one_of(request.query_params.get("kind", "conditional"), MATRICES, "kind")
        given = request.query_params.get("labels", "").split(",")
        labels = [self._label_number(text) for text in given]
        if len(labels) > _MOST_MATRIX_LABELS:
            raise BadQuestionError(f"a matrix has at most {_MOST_MATRIX_LABELS} labels")
        return label_matrix(self.session, kind, labels)

    def _label(self, request: Request) -> dict[str, Any]:
        return label_curves(self.session, self._label_number(request.path_params["label"]))

    def _row_number(self, request: Request) -> int:
        row = _number(request.path_params["row"])
        if row >= self.session.n_rows:
            raise BadQuestionError(f"there is no row {row}")
        return row

    def _fixed(self, request: Request) -> Evidence:
        """Return the labels that are fixed, ``fixed=3:1,5:0``."""
        fixed: dict[int | str, int] = {}
        for pair in filter(None, request.query_params.get("fixed", "").split(",")):
            label, _, value = pair.partition(":")
            if value not in ("0", "1"):
                raise BadQuestionError(f"fixed must be pairs such as 3:1; got {pair!r}")
            fixed[self._label_number(label)] = int(value)
        return fixed

    def _label_number(self, text: str) -> int:
        label = _number(text)
        if label >= self.session.n_labels:
            raise BadQuestionError(f"there is no label {label}")
        return label


def local_socket(port: int) -> socket.socket:
    """Return a socket on the loopback interface; port 0 is any free port."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":  # on other systems, others could then listen at the same port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except OSError as error:
        listening.close()
        raise OSError(error.errno, f"port {port} is not free: {error.strerror}") from error
    return listening


def _file(name: str) -> Response:
    folder = resources.files("labelweave.explore") / "static"
    known = {each.name: each for each in folder.iterdir() if each.is_file()}
    kind = name.rpartition(".")[2]
    if name not in known or kind not in _TYPES:
        return Response("not found", 404, _HEADERS)
    return Response(known[name].read_bytes(), 200, _HEADERS, f"{_TYPES[kind]}; charset=utf-8")


def _json(content: dict[str, Any], status: int = 200) -> Response:
    text = json.dumps(content, allow_nan=False, default=_plain)
    return Response(text, status, _HEADERS, "application/json")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not JSON")


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise BadQuestionError(f"{text!r} is not a number of a row or label")
    return int(text)


def _one_of(value: str, known: Any, name: str) -> str:
    if value not in known:
        raise BadQuestionError(f"{name} must be one of {', '.join(known)}; got {value!r}")
    return value


def explore(
    model: Any,
    X: Any,
    Y: Any = None,
    *,
    label_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    name: str = "data",
    comparison: Comparison | None = None,
    port: int = 0,
    browser: bool = True,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve the page that shows a model and its rows, until Ctrl-C.

    Parameters
    ----------
    model : fitted estimator
        One of labelweave's, or a pipeline or search that ends in one.
    X : array, sparse matrix or data frame
        The rows, with the features that the model was fitted with.
    Y : (n, L) array of 0/1, optional
        Their true labels.
    label_names : sequence of str, optional
        By default the labels are numbered.
    feature_names : sequence of str, optional
        By default the features are numbered, or named as the data frame's columns.
    name : str, default="data"
        The name of the data on the page.
    comparison : Comparison, optional
        Results of `labelweave.compare` to show beside the model.
    port : int, default=0
        Port on this machine; 0 takes any that is free.
    browser : bool, default=True
        Whether to open the page in the browser.
    announce : callable, default=print
        Called with the link to the page.

    Examples
    --------
    >>> import labelweave as lw
    >>> from labelweave.explore import explore
    >>> data = lw.load("emotions")
    >>> model = lw.TreeMixture().fit(data.X, data.Y)  # doctest: +SKIP
    >>> explore(model, data.X, data.Y, label_names=data.label_names)  # doctest: +SKIP
    """
    session = Session(model, X, Y, label_names=label_names, feature_names=feature_names, name=name)
    with serving(session, comparison=comparison, port=port) as link:
        announce(link)
        if browser:
            webbrowser.open(link)
        threading.Event().wait()


@contextmanager
def serving(
    session: Session, *, comparison: Comparison | None = None, port: int = 0
) -> Iterator[str]:
    """Serve the page in another thread inside the context, and yield its link."""
    explorer = Explorer(session, comparison)
    config = uvicorn.Config(
        explorer.app, log_level="warning", lifespan="off", timeout_graceful_shutdown=1
    )
    with local_socket(port) as listening:
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while thread.is_alive() and not server.started:
            thread.join(timeout=0.05)  # seconds between checks
        if not server.started:
            raise RuntimeError("the server did not start")
        session.start()
        try:
            port = listening.getsockname()[1]
            yield f"http://127.0.0.1:{port}/?token={explorer.token}"
        finally:
            session.stop()
            server.should_exit = True
            thread.join()
