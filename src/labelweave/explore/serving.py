"""Show a model in the browser."""

from __future__ import annotations

import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from labelweave.explore.session import Session

if TYPE_CHECKING:
    from labelweave.evaluation import Comparison

__all__ = ["explore", "serving"]

# How long to wait for the server, which starts within a fraction of a second, between two looks.
_LOOK = 0.05


def explore(
    session: Session,
    *,
    comparison: Comparison | None = None,
    port: int = 0,
    browser: bool = True,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve the page that shows a model and its rows, until Ctrl-C.

    Parameters
    ----------
    session : Session
        The model and the rows.
    comparison : Comparison, optional
        Results of `labelweave.evaluation.compare` to show beside it.
    port : int, default=0
        Port on this machine; 0 takes any that is free.
    browser : bool, default=True
        Whether to open the page in the browser.
    announce : callable, default=print
        Called with the link to the page.

    Examples
    --------
    >>> from labelweave.datasets import load_emotions
    >>> from labelweave.explore import Session, explore
    >>> from labelweave.models import TreeMixture
    >>> data = load_emotions()
    >>> model = TreeMixture().fit(data.X, data.Y)  # doctest: +SKIP
    >>> explore(Session(model, data.X, data.Y, label_names=data.label_names))  # doctest: +SKIP
    """
    with serving(session, comparison=comparison, port=port) as link:
        announce(link)
        if browser:
            webbrowser.open(link)
        threading.Event().wait()


@contextmanager
def serving(
    session: Session, *, comparison: Comparison | None = None, port: int = 0
) -> Iterator[str]:
    """Serve the page in another thread for as long as the context lasts; its link is returned.

    Parameters
    ----------
    session, comparison, port
        As in `explore`.

    Examples
    --------
    >>> from urllib.request import urlopen
    >>> from labelweave.datasets import load_emotions
    >>> from labelweave.models import BinaryRelevance
    >>> data = load_emotions()
    >>> model = BinaryRelevance(C=0.01).fit(data.X, data.Y)
    >>> with serving(Session(model, data.X, data.Y)) as link, urlopen(link) as page:
    ...     page.status
    200
    """
    try:
        import uvicorn

        from labelweave.explore.server import Explorer, local_socket
    except ModuleNotFoundError as error:
        raise ImportError(
            f"the explorer needs {error.name}: pip install 'labelweave[explore]'"
        ) from error
    explorer = Explorer(session, comparison)
    with local_socket(port) as listening:
        server = uvicorn.Server(
            uvicorn.Config(
                explorer.app, log_level="warning", lifespan="off", timeout_graceful_shutdown=1
            )
        )
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while thread.is_alive() and not server.started:
            thread.join(_LOOK)
        if not server.started:
            raise RuntimeError("the server did not start")
        session.start()
        try:
            yield explorer.link(listening.getsockname()[1])
        finally:
            session.stop()
            server.should_exit = True
            thread.join()
