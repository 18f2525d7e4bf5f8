// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Inputs as they come from the tools that people use.
enum Transcripts {
  static let nginxStaticFile = """
    HTTP/1.1 200 OK\r
    Server: nginx/1.22.1\r
    Date: Sun, 06 Nov 1994 08:49:37 GMT\r
    Content-Type: text/css\r
    Content-Length: 1547\r
    Last-Modified: Thu, 27 Oct 1994 08:49:37 GMT\r
    Connection: keep-alive\r
    ETag: "6365a1c8-60b"\r
    Expires: Sun, 06 Nov 1994 08:50:37 GMT\r
    Cache-Control: max-age=60\r
    Accept-Ranges: bytes\r
    \r
    body { margin: 0 }
    HTTP/1.1 500 not a head, but content\r

    """

  static let verboseOverHTTP2 = """
      % Total    % Received % Xferd  Average Speed   Time    Time     Time  Current
    *   Trying 192.0.2.7:443...
    * Connected to www.example.com (192.0.2.7) port 443 (#0)
    * SSL connection using TLSv1.3 / TLS_AES_256_GCM_SHA384
    * h2h3 [:method: GET]
    > GET /news?page=2 HTTP/2\r
    > Host: www.example.com\r
    > user-agent: curl/7.88.1\r
    > accept: */*\r
    > accept-language: de, en\r
    > \r
    { [5 bytes data]
    < HTTP/2 200 \r
    < date: Sun, 06 Nov 1994 08:49:37 GMT\r
    < cache-control: public, max-age=3600, s-maxage=60, stale-while-revalidate=30\r
    < vary: Accept-Language\r
    < etag: W/"n2"\r
    < age: 12\r
    < \r
    { [500 bytes data]
    <html>
    < not a head
    * Connection #0 to host www.example.com left intact
    """

  static let redirects = """
    HTTP/1.1 301 Moved Permanently\r
    Location: https://www.example.com/start\r
    \r
    HTTP/2 302 \r
    location: /end?x=1\r
    \r
    HTTP/2 200 \r
    cache-control: no-store\r
    \r
    {"secret":true}
    """

  static let throughProxy = """
    > CONNECT a.example:443 HTTP/1.1\r
    > Host: a.example:443\r
    > \r
    < HTTP/1.1 200 Connection established\r
    < \r
    * SSL connection using TLSv1.3 / TLS_AES_256_GCM_SHA384
    > POST /form HTTP/1.1\r
    > Host: a.example\r
    > Expect: 100-continue\r
    > \r
    < HTTP/1.1 100 Continue\r
    < \r
    < HTTP/1.1 201 Created\r
    < Location: /form/7\r
    < \r
    """
}
