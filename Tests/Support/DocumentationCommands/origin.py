# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

"""An origin for the commands of the documentation: python3 origin.py PORT. It answers every method and path."""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOUR = ("Cache-Control", "max-age=3600")
VALIDATOR = ("ETag", '"v1"')

# The fields and the content's length of paths that the documentation uses. All others are fresh for an hour.
RESPONSES = {
    "/login": ([("Set-Cookie", "session=1"), VALIDATOR], 100),
    "/account": ([("Cache-Control", "private, max-age=60"), VALIDATOR], 100),
    "/profile": ([("Cache-Control", "max-age=60"), VALIDATOR], 100),
    "/bare": ([], 100),
    "/age": ([("Cache-Control", "max-age=60"), ("Age", "300"), VALIDATOR], 100),
    "/agent": ([HOUR, ("Vary", "User-Agent")], 100),
    "/star": ([HOUR, ("Vary", "*")], 100),
    "/campaign": ([HOUR, ("No-Vary-Search", 'params=("utm_source")'), VALIDATOR], 100),
    "/big": ([HOUR, VALIDATOR], 3 << 20),
    "/news/42": ([HOUR, VALIDATOR, ("Cache-Groups", '"article-42"')], 100),
}


class Origin(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fields, length = RESPONSES.get(self.path.split("?")[0], ([HOUR], 100))
        validator = dict(fields).get("ETag")
        unchanged = validator is not None and self.headers.get("If-None-Match") == validator
        self.send_response(304 if unchanged else 200)
        for name, value in fields:
            self.send_header(name, value)
        if not unchanged:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        if not unchanged and self.command != "HEAD":
            self.wfile.write(b"x" * length)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Origin).serve_forever()
