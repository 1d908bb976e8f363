"""One request and its answer, over connections that are kept. Follows no redirect and knows no proxy."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple
from urllib.parse import urlsplit

# Connections that wait for a next request; more are closed after theirs.
_KEPT = 8
_CONNECT_TIMEOUT = 10.0


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NoAnswer(Exception):
    """The server could not be reached, or hung up before its answer was whole."""

    def __init__(self, reason: str, sent: bool) -> None:
        super().__init__(reason)
        self.sent = sent


class HangUp:
    """Cuts a request that waits for its answer, from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sock: Optional[socket.socket] = None
        self.asked = False

    def __call__(self) -> None:
        with self._lock:
            self.asked = True
            self._cut()

    def _watch(self, sock: Optional[socket.socket]) -> None:
        with self._lock:
            self._sock = sock
            if self.asked:
                self._cut()

    def _cut(self) -> None:
        if self._sock is not None:
            try:
                # Not that of a TLS socket, which would forget its session while another thread reads from it.
                socket.socket.shutdown(self._sock, socket.SHUT_RDWR)
            except OSError:
                pass  # it is cut already


class Transport:
    """Requests to one server. Threads may share it."""

    def __init__(self, url: str, token: str, tls: Optional[ssl.SSLContext]) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the URL of the server is `http://host:port` or `https://host`")
        if parts.username is not None or parts.password is not None:
            raise ValueError("the URL of the server may hold no name and no password: give the token by itself")
        if parts.query or parts.fragment:
            raise ValueError("the URL of the server has no `?` and no `#`")
        if any(not "!" <= letter <= "~" for letter in token):
            raise ValueError("the token has a character that no token has, such as a line break")
        self._tls = (tls or ssl.create_default_context()) if parts.scheme == "https" else None
        self._host, self._port = parts.hostname, parts.port
        self._base = parts.path.rstrip("/")
        self._token = token
        shown = f"[{self._host}]" if ":" in self._host else self._host
        port = f":{self._port}" if self._port is not None else ""
        self.url = f"{parts.scheme}://{shown}{port}{self._base}"
        self._lock = threading.Lock()
        self._idle: List[http.client.HTTPConnection] = []

    def __repr__(self) -> str:
        return f"Transport({self.url!r})"

    def exchange(
        self,
        method: str,
        path: str,
        body: Optional[bytes],
        headers: Mapping[str, str],
        timeout: float,
        hang_up: Optional[HangUp] = None,
    ) -> Answer:
        """Sends it and reads the answer. `timeout`: the longest silence, in seconds."""
        everything = {"Accept": "application/json", "User-Agent": "longshore-client-python", **headers}
        if self._token:
            everything["Authorization"] = f"Bearer {self._token}"
        if body is not None:
            everything["Content-Type"] = "application/json"
        while True:
            connection, fresh = self._connection()
            try:
                return self._once(connection, method, path, body, everything, timeout, hang_up or HangUp())
            except NoAnswer as error:
                # The server may close a kept connection at any time, and just then. A fresh one tells more.
                if fresh or (hang_up and hang_up.asked) or not isinstance(error.__cause__, _CLOSED):
                    raise

    def _once(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: Optional[bytes],
        headers: Dict[str, str],
        timeout: float,
        hang_up: HangUp,
    ) -> Answer:
        sent = False
        try:
            sock: Optional[socket.socket] = connection.sock
            if sock is None:
                connection.timeout = _CONNECT_TIMEOUT
                connection.connect()  # it sets TCP_NODELAY
                sock = connection.sock
                assert sock is not None
            hang_up._watch(sock)
            sock.settimeout(timeout)
            sent = True
            connection.request(method, f"{self._base}/api/v1{path}", body, headers)
            response = connection.getresponse()
            content = response.read()
            answer = Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, content)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise NoAnswer(_reason(error), sent) from error
        except BaseException:  # such as a header that is none
            connection.close()
            raise
        finally:
            hang_up._watch(None)
        if response.will_close or hang_up.asked:
            connection.close()
        else:
            self._keep(connection)
        return answer

    def _connection(self) -> Tuple[http.client.HTTPConnection, bool]:
        with self._lock:
            if self._idle:
                return self._idle.pop(), False
        if self._tls is not None:
            return http.client.HTTPSConnection(self._host, self._port, context=self._tls), True
        return http.client.HTTPConnection(self._host, self._port), True

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < _KEPT:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Closes what is kept; requests under way go on."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


_CLOSED = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError, ConnectionAbortedError)


def _reason(error: Exception) -> str:
    # Never the request itself: its headers have the token.
    if isinstance(error, (socket.timeout, TimeoutError)):
        return "it did not answer in time"
    if isinstance(error, http.client.RemoteDisconnected):
        return "it hung up before it answered"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, OSError):
        return error.strerror or str(error) or type(error).__name__
    return "it hung up before its answer was whole"
