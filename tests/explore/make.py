"""Sessions to explore, and a client of their server."""

import json
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

import numpy as np

from labelweave import ClassifierChain
from labelweave.data import load
from labelweave.explore.session import Session

NASTY = '<script>alert("x")</script> & <b>bold</b>'


def emotions_session(model=None, *, truth=True):
    """Return a session over emotions, with the first label renamed to something nasty."""
    data = load("emotions")
    fitted = (model or ClassifierChain(C=0.01, label_penalty=0.1)).fit(data.X, data.Y)
    names = [NASTY, *data.label_names[1:]]
    Y = data.Y if truth else None
    return Session(
        fitted,
        np.asarray(data.X),
        Y,
        label_names=names,
        feature_names=data.feature_names,
        name="emotions",
    )


class Client:
    """What a page may ask, with the token of its link or without."""

    def __init__(self, link):
        parts = urlsplit(link)
        self.root = f"{parts.scheme}://{parts.netloc}"
        self.token = parse_qs(parts.query)["token"][0]

    def get(self, path, **headers):
        """Return status, headers and content of an answer."""
        headers = {"X-Labelweave-Token": self.token} | headers
        try:
            with urlopen(Request(self.root + path, headers=headers)) as answer:
                return answer.status, answer.headers, answer.read()
        except HTTPError as error:
            with error:
                return error.code, error.headers, error.read()

    def json(self, path):
        """Return an answer that must be well."""
        status, _, content = self.get(path)
        assert status == 200, content
        return json.loads(content, parse_constant=_refuse)


def _refuse(name):
    raise AssertionError(f"{name} is not JSON")
