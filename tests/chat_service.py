"""A local OpenAI-compatible chat service that answers as it is told to."""

import json
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ChatService(ThreadingHTTPServer):
    """A chat service that sends these replies in order, each after `slow` seconds, and keeps the requests."""

    def __init__(self, *replies: tuple[int, object], slow: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies = list(replies)
        self.slow = slow
        self.asked: list[tuple[str, str | None, dict[str, Any]]] = []
        self.url = f"http://127.0.0.1:{self.server_port}/v1"

    def __enter__(self) -> "ChatService":
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, ChatService)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, self.headers["Authorization"], body))
        status, said = self.server.replies.pop(0)
        time.sleep(self.server.slow)
        content = said if isinstance(said, bytes) else json.dumps(said).encode()
        # Whoever asked may have given up meanwhile.
        with suppress(BrokenPipeError, ConnectionResetError):
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def completed(answer: object) -> dict[str, object]:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return {"choices": [{"message": {"role": "assistant", "content": text}}]}
