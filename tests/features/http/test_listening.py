"""The socket that HTTP is served on."""

import socket

from minutebook.features.http.process import listen
from minutebook.features.http.requests.hosts import Address


def test_an_answer_does_not_wait_until_the_client_has_said_that_it_has_the_one_before() -> None:
    with listen(Address("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            connection, _ = listener.accept()
            with connection:
                assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
