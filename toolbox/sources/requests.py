"""A request as plain data: what an application's HTTP client is to send."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Request"]


@dataclass(frozen=True, slots=True)
class Request:
    """One request of an OpenAPI operation.

    The address of the server, credentials and whatever the security schemes of the document ask for are added by the application.

    Attributes:
        method: the method, such as ``"GET"``.
        path: the path of the operation with its parameters filled in, percent-encoded: ``/pets/7``.
        operation_id: the operation's id, where it has one.
        template: the path as the document has it: ``/pets/{petId}``.
        query: names and values of the query in order, percent-encoded.
        headers: names and values of the headers, ``Content-Type`` among them where there is a body.
        cookies: names and values of the cookies, as they stand in a ``Cookie`` header.
        body: the body as it is sent; None where there is none.
        json: the value that the body was written from, where it is JSON.
    """

    method: str
    path: str
    operation_id: str | None = None
    template: str = ""
    query: tuple[tuple[str, str], ...] = ()
    headers: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    body: bytes | None = field(default=None, repr=False)
    json: Any = None

    @property
    def url(self) -> str:
        """Path and query, to be put after the address of the server.

        >>> Request("GET", "/pets", query=(("tag", "a%20b"), ("limit", "5"))).url
        '/pets?tag=a%20b&limit=5'
        """
        if not self.query:
            return self.path
        text = "&".join(f"{name}={value}" for name, value in self.query)
        return f"{self.path}{'&' if '?' in self.path else '?'}{text}"
