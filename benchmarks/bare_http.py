"""The least server over HTTP, as the SDK serves it: `python -m benchmarks.bare_http PORT`."""

import sys

import uvicorn

from benchmarks.bare import server

if __name__ == "__main__":
    port = int(sys.argv[1])
    uvicorn.run(
        server().streamable_http_app(),
        host="127.0.0.1",
        port=port,
        log_level="warning",
        access_log=False,
    )
