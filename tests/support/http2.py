"""A connection of HTTP/2, frame by frame: what a client of gRPC does not let a test see or do."""

import socket
import struct
import time

from ringd_process import PATIENCE

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING, GOAWAY = 0, 1, 4, 6, 7
END_STREAM, ACK, END_HEADERS = 1, 1, 4


class Http2:
    def __init__(self, endpoint):
        host, port = endpoint.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.last_stream = -1
        self.socket.sendall(PREFACE)
        self.send(SETTINGS)

    def close(self):
        self.socket.close()

    def send(self, kind, payload=b"", flags=0, stream=0):
        self.socket.sendall(struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload)

    def call(self, path, message, **headers):
        """Begins a call of a gRPC method with one request message; answers its stream."""
        self.last_stream += 2
        fields = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "test", "te": "trailers",
                  "content-type": "application/grpc"} | {name.replace("_", "-"): value for name, value in headers.items()}
        block = b"".join(b"\x00" + self._text(name) + self._text(value) for name, value in fields.items())
        self.send(HEADERS, block, END_HEADERS, self.last_stream)
        self.send(DATA, b"\x00" + struct.pack(">I", len(message)) + message, END_STREAM, self.last_stream)
        return self.last_stream

    @staticmethod
    def _text(text):
        """A string of HPACK, as it is."""
        assert len(text) < 127
        return bytes([len(text)]) + text.encode()

    def next_frame(self, patience=PATIENCE):
        """(kind, flags, stream, payload) of the next frame; None when there is none in time, or no more."""
        deadline = time.monotonic() + patience
        while len(self.received) < 9 or len(self.received) < 9 + int.from_bytes(self.received[:3], "big"):
            self.socket.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                more = self.socket.recv(65536)
            except (TimeoutError, ConnectionError):
                return None
            if not more:
                return None
            self.received += more
        end = 9 + int.from_bytes(self.received[:3], "big")
        frame = (self.received[3], self.received[4], int.from_bytes(self.received[5:9], "big"), self.received[9:end])
        self.received = self.received[end:]
        if frame[0] in (SETTINGS, PING) and not frame[1] & ACK:
            self.send(frame[0], b"" if frame[0] == SETTINGS else frame[3], ACK)
        return frame

    def frames_until(self, wanted, patience=PATIENCE):
        """The frames of calls up to the first that is wanted, which is the last of them."""
        frames = []
        while True:
            frame = self.next_frame(patience)
            if frame is None:
                raise AssertionError("no such frame came; %r" % frames[-5:])
            if frame[2] == 0:
                continue
            frames.append(frame)
            if wanted(*frame):
                return frames
