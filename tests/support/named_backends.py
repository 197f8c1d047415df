"""Servers that say who they are, for a real proxy in front of them: so a test sees which one it asked."""

import selectors
import socket
import threading


class NamedBackends:
    """Any number of listening sockets, served by one thread. `reply` makes of a name and of the bytes of a connection
    the answers to the requests in them, and the rest, where a request is not complete."""

    def __init__(self, reply):
        self._reply = reply
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._lock = threading.Lock()  # of the selector's map, while a socket is added
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def add_tcp(self, host="127.0.0.1"):
        """A server on a free port; its name is host:port."""
        listener = socket.create_server((host, 0), backlog=512)
        name = "%s:%d" % listener.getsockname()
        self._add(listener, name)
        return name

    def add_unix(self, path, name):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(512)
        self._add(listener, name)

    def stop(self):
        self._wake.send(b"stop")
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()
        self._selector.close()
        self._wake.close()

    def _add(self, listener, name):
        with self._lock:
            self._selector.register(listener, selectors.EVENT_READ, (name, None))
        self._wake.send(b"+")

    def _run(self):
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._woken:
                    if b"stop" in self._woken.recv(1024):
                        return
                    continue
                with self._lock:
                    self._serve(key.fileobj, *key.data)

    def _serve(self, sock, name, begun):
        if begun is None:
            self._selector.register(sock.accept()[0], selectors.EVENT_READ, (name, b""))
            return
        try:
            data = sock.recv(1 << 16)
            if data:
                answer, rest = self._reply(name, begun + data)
                sock.sendall(answer)
                self._selector.modify(sock, selectors.EVENT_READ, (name, rest))
                return
        except ConnectionError:
            pass
        self._selector.unregister(sock)
        sock.close()
