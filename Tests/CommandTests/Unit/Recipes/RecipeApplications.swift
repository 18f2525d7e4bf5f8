// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// What real applications send, as their sources and servers show it.
extension RecipeApplication {
  static let all = [
    application, microcaching, staticSite, wordPress, varnishBlog, magento, drupal, nextJS, api, debian,
    maven, npm,
    streams, images,
  ]

  private static func cookie(_ value: String) -> [Field] { [("Cookie", value)] }

  /// An application that says nothing about caching.
  private static let application = RecipeApplication(
    heading: "# Rules",
    routes: [
      Route(
        path: "/login", method: "POST", status: 303,
        fields: [("Set-Cookie", "session=anna; HttpOnly"), ("Location", "/")]),
      Route(path: "/static/*", fields: [("ETag", "\"1\"")]),
      Route(
        path: "/next", status: 302, fields: [("Location", "/login?next=/")],
        shows: [.field("Accept-Language")]),
      Route(path: "/*", shows: [.cookie("session")]),
    ],
    visitors: [
      "guest": [], "other": cookie("theme=dark"), "bert": cookie("session=bert"),
      "carla": cookie("theme=a; session=carla"),
      "French": [("Accept-Language", "fr")],
    ],
    paths: ["/", "/account", "/static/app.js", "/next"],
    shared: [("/", "guest", "other"), ("/static/app.js", "guest", "other")],
    survives: [("/", "guest", 500), ("/static/app.js", "guest", 30 * 86_400 + 3600)],
    signIn: SignIn(path: "/login", cookie: "session", page: "/"))

  /// PHP with `session_start()`, whose default limiter is `nocache`.
  private static let microcaching = RecipeApplication(
    heading: "### Microcaching",
    routes: [
      Route(
        path: "/login.php", method: "POST", status: 302,
        fields: limiter + [("Set-Cookie", "PHPSESSID=anna; path=/"), ("Location", "/")]),
      Route(
        path: "/basket.php", fields: limiter + [("Set-Cookie", "PHPSESSID=new; path=/")],
        shows: [.cookie("PHPSESSID")]),
      Route(
        path: "/old.php", fields: [("Set-Cookie", "PHPSESSID=new; path=/")], shows: [.cookie("PHPSESSID")]),
      Route(path: "/next", status: 302, fields: [("Location", "/de/")], shows: [.field("Accept-Language")]),
      Route(path: "/*", shows: [.cookie("PHPSESSID")]),
    ],
    visitors: [
      "guest": [], "other": cookie("_ga=2"), "bert": cookie("PHPSESSID=bert"),
      "carla": cookie("_ga=1; PHPSESSID=carla"),
      "French": [("Accept-Language", "fr")],
    ],
    paths: ["/", "/basket.php", "/old.php", "/next"], shared: [("/", "guest", "other")],
    survives: [("/", "guest", 600)],
    signIn: SignIn(path: "/login.php", cookie: "PHPSESSID", page: "/"))

  private static let limiter: [Field] = [
    ("Expires", "Thu, 19 Nov 1981 08:52:00 GMT"), ("Cache-Control", "no-store, no-cache, must-revalidate"),
    ("Pragma", "no-cache"),
  ]

  private static let staticSite = RecipeApplication(
    heading: "### A static site",
    routes: [
      Route(path: "/assets/*", fields: [("ETag", "\"1\""), ("Content-Type", "text/css")]),
      Route(path: "/*", fields: [("ETag", "\"1\""), ("Last-Modified", "Tue, 14 Nov 2023 12:00:00 GMT")]),
    ],
    visitors: ["guest": [], "other": cookie("_ga=2")], paths: ["/", "/assets/app.css", "/none"],
    shared: [("/", "guest", "other"), ("/assets/app.css?v=1", "guest", "other")],
    survives: [("/", "guest", 600), ("/assets/app.css", "guest", 365 * 86_400 + 1000)])

  // MARK: - WordPress, with WooCommerce

  /// `nocache_headers()`, and what it adds for a signed-in user.
  private static let noCache: [Field] = [
    ("Expires", "Wed, 11 Jan 1984 05:00:00 GMT"), ("Cache-Control", "no-cache, must-revalidate, max-age=0"),
  ]
  private static let noStore: [Field] = [
    ("Expires", "Wed, 11 Jan 1984 05:00:00 GMT"),
    ("Cache-Control", "no-cache, must-revalidate, max-age=0, no-store, private"),
  ]

  private static let wordPressRoutes = [
    Route(
      path: "/wp-login.php", method: "POST", status: 302,
      fields: noStore + [("Set-Cookie", "wordpress_logged_in_1=anna; path=/; HttpOnly"), ("Location", "/")]),
    Route(path: "/wp-login.php", fields: noCache + [("Set-Cookie", "wordpress_test_cookie=1; path=/")]),
    Route(path: "/wp-content/plugins/*", shows: [.cookie("visit")]),
    Route(path: "/wp-content/*", fields: [("ETag", "\"1\""), ("Content-Type", "text/css")]),
    Route(
      path: "/*", cookie: "wordpress_logged_in_*", fields: noStore, shows: [.cookie("wordpress_logged_in_*")]),
    Route(path: "/secret/", cookie: "wp-postpass_*", fields: noCache, shows: [.cookie("wp-postpass_*")]),
    Route(path: "/*", cookie: "comment_author_*", shows: [.cookie("comment_author_*")]),
    // The pages of a shop have other names in each language.
    Route(path: "/mein-konto*", fields: noCache, shows: [.cookie("wp_woocommerce_session_*")]),
    Route(path: "/warenkorb/", fields: noCache, shows: [.cookie("wp_woocommerce_session_*")]),
    Route(
      path: "/kasse/", status: 302, fields: [("Location", "/warenkorb/")],
      shows: [.cookie("wp_woocommerce_session_*")]),
    Route(path: "/sprache", status: 302, fields: [("Location", "/de/")], shows: [.field("Accept-Language")]),
    Route(path: "/*", fields: [("Link", "</wp-json/>; rel=\"https://api.w.org/\"")]),
  ]
  private static let wordPressVisitors: [String: [Field]] = [
    "guest": cookie("_ga=1; visit=1"), "other": cookie("_ga=2; visit=2"),
    "bert": cookie("wordpress_logged_in_1=bert"), "carla": cookie("_ga=1; wordpress_logged_in_1=carla"),
    "reader": cookie("wp-postpass_1=a"), "commenter": cookie("comment_author_1=emil"),
    "French": [("Accept-Language", "fr")],
  ]

  private static let wordPress = RecipeApplication(
    heading: "### WordPress", routes: wordPressRoutes,
    visitors: wordPressVisitors.merging(
      [
        "buyer": cookie("wp_woocommerce_session_1=dora; woocommerce_items_in_cart=1"),
        "other buyer": cookie("wp_woocommerce_session_1=fred"),
      ], uniquingKeysWith: { $1 }),
    paths: [
      "/", "/2026/post/", "/secret/", "/mein-konto/", "/mein-konto/bestellungen/", "/warenkorb/", "/kasse/",
      "/sprache",
      "/wp-login.php", "/wp-content/style.css", "/wp-content/plugins/a/ajax.php",
    ],
    shared: [
      ("/", "guest", "other"), ("/2026/post/?utm_source=a", "guest", "other"),
      ("/wp-content/style.css", "guest", "other"),
    ],
    survives: [("/", "guest", 4000)],
    signIn: SignIn(path: "/wp-login.php", cookie: "wordpress_logged_in_1", page: "/"))

  private static let varnishBlog = RecipeApplication(
    page: "Moving", heading: "## Varnish: a blog", routes: wordPressRoutes, visitors: wordPressVisitors,
    paths: ["/", "/2026/post/", "/secret/", "/mein-konto/", "/sprache", "/wp-content/style.css"],
    shared: [("/", "guest", "other"), ("/wp-content/style.css", "guest", "other")],
    survives: [("/", "guest", 4000)],
    signIn: SignIn(path: "/wp-login.php", cookie: "wordpress_logged_in_1", page: "/"))

  // MARK: - Magento

  private static let magentoPage: [Field] = [
    ("Cache-Control", "max-age=86400, public, s-maxage=86400"), ("Pragma", "cache"),
    ("X-Magento-Tags", "cat_p_1,store,cms_b"), ("Vary", "Accept-Encoding"),
    ("Set-Cookie", "PHPSESSID=new; path=/"),
  ]
  private static let magentoPrivate: [Field] = [
    ("Cache-Control", "max-age=0, must-revalidate, no-cache, no-store"), ("Pragma", "no-cache"),
    ("Expires", "Sat, 28 Nov 2025 12:00:00 GMT"),
  ]

  private static let magento = RecipeApplication(
    heading: "### Magento",
    routes: [
      Route(
        path: "/customer/account/loginPost/", method: "POST", status: 302,
        fields: magentoPrivate + [
          ("Set-Cookie", "X-Magento-Vary=retail; path=/"), ("Location", "/customer/account/"),
        ]),
      Route(path: "/customer/*", fields: magentoPrivate, shows: [.cookie("PHPSESSID")]),
      Route(path: "/checkout/*", fields: magentoPrivate, shows: [.cookie("PHPSESSID")]),
      Route(path: "/stores/*", status: 302, fields: magentoPrivate + [("Location", "/")]),
      Route(
        path: "/graphql", fields: magentoPage.dropLast(),
        shows: [.field("Store"), .field("X-Magento-Cache-Id"), .field("Authorization")]),
      Route(path: "/static/*", fields: [("Cache-Control", "public"), ("Content-Type", "text/css")]),
      Route(path: "/*", fields: magentoPage, shows: [.cookie("X-Magento-Vary")]),
    ],
    visitors: [
      "guest": [], "other": cookie("PHPSESSID=other; form_key=1"),
      "bert": cookie("PHPSESSID=bert; X-Magento-Vary=wholesale"),
      "carla": cookie("X-Magento-Vary=vip; PHPSESSID=carla"),
      "German": [("Store", "de")], "app": [("Authorization", "Bearer 1")],
      "other app": [("Authorization", "Bearer 2")], "group": [("X-Magento-Cache-Id", "1")],
    ],
    paths: ["/", "/gear/bags.html", "/customer/account/", "/checkout/cart/", "/graphql", "/static/a.css"],
    shared: [
      ("/gear/bags.html?gclid=1", "guest", "other"), ("/gear/bags.html", "bert", "bert"),
      ("/static/a.css", "other", "guest"),
      ("/graphql", "guest", "other"), ("/graphql", "group", "group"),
    ],
    survives: [("/gear/bags.html", "guest", 86_400 + 1000), ("/gear/bags.html", "bert", 86_400 + 1000)],
    signIn: SignIn(path: "/customer/account/loginPost/", cookie: "X-Magento-Vary", page: "/gear/bags.html"))

  // MARK: - Others

  private static let drupalPage: [Field] = [
    ("Cache-Control", "max-age=900, public"), ("Vary", "Cookie"), ("X-Drupal-Cache", "MISS"),
    ("Expires", "Sun, 19 Nov 1978 05:00:00 GMT"), ("ETag", "\"1700000000\""),
    ("Last-Modified", "Tue, 14 Nov 2023 12:00:00 GMT"),
  ]
  private static let drupalPrivate: [Field] = [
    ("Cache-Control", "must-revalidate, no-cache, private"), ("Expires", "Sun, 19 Nov 1978 05:00:00 GMT"),
  ]

  private static let drupal = RecipeApplication(
    heading: "### Drupal",
    routes: [
      Route(
        path: "/user/login", method: "POST", status: 303,
        fields: drupalPrivate + [("Set-Cookie", "SSESS1=anna; path=/; HttpOnly"), ("Location", "/user/1")]),
      Route(path: "/*", cookie: "SSESS*", fields: drupalPrivate, shows: [.cookie("SSESS*")]),
      Route(path: "/*", cookie: "SESS*", fields: drupalPrivate, shows: [.cookie("SESS*")]),
      Route(path: "/user", status: 302, fields: drupalPrivate + [("Location", "/user/login")]),
      Route(path: "/*", fields: drupalPage),
    ],
    visitors: [
      "guest": [], "other": cookie("_ga=2"), "bert": cookie("SSESS1=bert"),
      "carla": cookie("_ga=1; SSESS1=carla"),
      "dora": cookie("SESS1=dora"),
    ],
    paths: ["/", "/node/1", "/user"], shared: [("/node/1", "guest", "other")],
    survives: [("/node/1", "guest", 4000)],
    signIn: SignIn(path: "/user/login", cookie: "SSESS1", page: "/node/1"))

  private static let nextVary = "RSC, Next-Router-State-Tree, Next-Router-Prefetch, Accept-Encoding"
  private static let nextPrivate: Field = (
    "Cache-Control", "private, no-cache, no-store, max-age=0, must-revalidate"
  )

  private static let nextJS = RecipeApplication(
    heading: "### Next.js",
    routes: [
      Route(
        path: "/api/draft", method: "POST", status: 307,
        fields: [("Set-Cookie", "__prerender_bypass=anna; path=/"), ("Location", "/blog")]),
      Route(
        path: "/blog*", cookie: "__prerender_bypass", fields: [nextPrivate],
        shows: [.cookie("__prerender_bypass")]),
      Route(
        path: "/account", fields: [nextPrivate, ("Vary", nextVary)],
        shows: [.cookie("session"), .field("RSC")]),
      Route(
        path: "/_next/static/*", fields: [("Cache-Control", "public, max-age=31536000, immutable")]),
      Route(
        path: "/_next/image",
        fields: [("Cache-Control", "public, max-age=60, must-revalidate"), ("Vary", "Accept")],
        shows: [.field("Accept")]),
      // Pages of the router for pages have no Vary in some versions.
      Route(
        path: "/old", fields: [("Cache-Control", "s-maxage=60, stale-while-revalidate")],
        shows: [.field("RSC")]),
      Route(
        path: "/*",
        fields: [("Cache-Control", "s-maxage=60, stale-while-revalidate=300"), ("Vary", nextVary)],
        shows: [.field("RSC"), .field("Next-Router-Prefetch")]),
    ],
    visitors: [
      "guest": [], "other": cookie("_ga=2"), "bert": cookie("session=bert"), "carla": cookie("session=carla"),
      "router": [("RSC", "1")], "prefetch": [("RSC", "1"), ("Next-Router-Prefetch", "1")],
      "editor": cookie("__prerender_bypass=dora"), "avif": [("Accept", "image/avif,image/webp,*/*")],
    ],
    paths: ["/", "/blog/1", "/account", "/old", "/_next/static/a.js", "/_next/image?url=a&w=64&q=75"],
    shared: [
      ("/blog/1", "guest", "bert"), ("/blog/1", "router", "router"), ("/_next/static/a.js", "bert", "guest"),
    ],
    survives: [("/blog/1", "guest", 3000)],
    signIn: SignIn(path: "/api/draft", cookie: "__prerender_bypass", page: "/blog/1"))

  private static let api = RecipeApplication(
    heading: "### An API with tokens",
    routes: [
      Route(path: "/api/login", method: "POST", fields: [("Cache-Control", "no-store")]),
      // Of the version of a record, which is the same for all.
      Route(
        path: "/api/me", fields: [("Cache-Control", "max-age=30"), ("ETag", "\"1\"")],
        shows: [.field("Authorization")]),
      Route(path: "/api/orders", fields: [("ETag", "\"1\"")], shows: [.field("Authorization")]),
      Route(
        path: "/api/secret", fields: [("Cache-Control", "private, max-age=30")],
        shows: [.field("Authorization")]),
      Route(path: "/api/*"),
    ],
    visitors: [
      "guest": [], "other": cookie("_ga=2"), "bert": [("Authorization", "Bearer b")],
      "carla": [("Authorization", "Bearer c")],
    ],
    paths: ["/api/me", "/api/orders", "/api/secret", "/api/prices", "/api/./me", "/API/me"],
    shared: [
      ("/api/prices", "guest", "other"), ("/api/me", "bert", "bert"), ("/api/orders", "bert", "bert"),
    ],
    survives: [("/api/prices", "guest", 300), ("/api/orders", "bert", 300)])

  private static let debian = RecipeApplication(
    heading: "### A Debian mirror",
    routes: [
      Route(
        path: "/debian/pool/moved.deb", status: 302, fields: [("Location", "http://a.example/")],
        shows: [.field("X-Country")]),
      Route(
        path: "/debian/*", fields: [("ETag", "\"1\""), ("Last-Modified", "Tue, 14 Nov 2023 12:00:00 GMT")]),
    ],
    visitors: [
      "guest": [], "other": [("User-Agent", "Debian APT-HTTP/1.3")], "German": [("X-Country", "de")],
    ],
    paths: ["/debian/dists/stable/InRelease", "/debian/pool/moved.deb", "/debian/pool/a/a.deb"],
    shared: [
      ("/debian/dists/stable/InRelease", "guest", "other"), ("/debian/pool/a/a.deb", "guest", "other"),
      ("/debian/dists/stable/main/by-hash/SHA256/a", "guest", "other"),
    ],
    survives: [
      ("/debian/dists/stable/InRelease", "guest", 80_000), ("/debian/pool/a/a.deb", "guest", 400 * 86_400),
      ("/debian/dists/stable/main/by-hash/SHA256/a", "guest", 400 * 86_400),
    ])

  private static let maven = RecipeApplication(
    heading: "### A Maven repository",
    routes: [
      Route(
        path: "/maven2/private/*", field: "Authorization",
        fields: [("ETag", "\"1\""), ("Content-Type", "application/java-archive")],
        shows: [.field("Authorization")]),
      Route(path: "/maven2/private/*", status: 401, fields: [("WWW-Authenticate", "Basic realm=\"a\"")]),
      Route(path: "/maven2/*", fields: [("ETag", "\"1\""), ("Content-Type", "text/xml")]),
    ],
    visitors: [
      "guest": [], "other": [("User-Agent", "Apache-Maven/3.9.9")], "bert": [("Authorization", "Basic b")],
      "carla": [("Authorization", "Basic c")],
    ],
    paths: ["/maven2/a/b/1/b-1.jar", "/maven2/private/b-1.jar", "/maven2/a/b/maven-metadata.xml"],
    shared: [
      ("/maven2/a/b/1/b-1.jar", "guest", "other"), ("/maven2/a/b/maven-metadata.xml", "guest", "other"),
    ],
    survives: [
      ("/maven2/a/b/1/b-1.jar", "guest", 400 * 86_400), ("/maven2/a/b/maven-metadata.xml", "guest", 80_000),
      ("/maven2/a/b/1-SNAPSHOT/b-1.jar", "guest", 80_000),
    ])

  private static let npm = RecipeApplication(
    heading: "### An npm registry",
    routes: [
      Route(path: "/-/v1/login", method: "POST", fields: [("Set-Cookie", "registry=anna")]),
      Route(path: "/-/*", shows: [.cookie("registry"), .field("Authorization")]),
      Route(
        path: "/@own%2fa", field: "Authorization", fields: [("ETag", "\"1\"")],
        shows: [.field("Accept"), .field("Authorization")]),
      // As Verdaccio does.
      Route(path: "/@own%2fa", status: 401),
      Route(
        path: "/a/-/*", fields: [("Cache-Control", "public, immutable, max-age=31557600"), ("ETag", "\"1\"")]),
      Route(
        path: "/*",
        fields: [
          ("Cache-Control", "public, max-age=300"), ("Vary", "accept-encoding, accept"), ("ETag", "\"1\""),
        ],
        shows: [.field("Accept")]),
    ],
    visitors: [
      "guest": [],
      "npm": [("Accept", "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*")],
      "bert": [("Authorization", "Bearer b"), ("Cookie", "registry=bert")],
      "carla": [("Authorization", "Bearer c")],
    ],
    paths: ["/a", "/-/whoami", "/@own%2fa", "/a/-/a-1.0.0.tgz", "/-/user/a"],
    shared: [("/a", "npm", "npm"), ("/a/-/a-1.0.0.tgz", "guest", "bert")],
    survives: [("/a", "npm", 80_000), ("/a/-/a-1.0.0.tgz", "npm", 400 * 86_400)],
    signIn: SignIn(path: "/-/v1/login", cookie: "registry", page: "/-/whoami"))

  private static let streams = RecipeApplication(
    heading: "### HLS streams",
    routes: [
      // As nginx-rtmp advises.
      Route(
        path: "/live/a.m3u8",
        fields: [("Cache-Control", "no-cache"), ("Content-Type", "application/vnd.apple.mpegurl")]),
      Route(
        path: "/live/token.m3u8", fields: [("Cache-Control", "private, no-cache")], shows: [.cookie("viewer")]
      ),
      Route(path: "/live/*", fields: [("ETag", "\"1\""), ("Content-Type", "video/mp2t")]),
    ],
    visitors: ["guest": [], "bert": cookie("viewer=bert"), "carla": cookie("viewer=carla")],
    paths: ["/live/a.m3u8", "/live/token.m3u8", "/live/a1.ts"],
    shared: [
      ("/live/a.m3u8?_HLS_msn=1", "guest", "bert"), ("/live/a1.ts", "bert", "guest"),
      ("/live/a1.m4s", "bert", "guest"),
    ],
    survives: [("/live/a1.ts", "guest", 90_000)])

  private static let images = RecipeApplication(
    heading: "### An image server",
    routes: [
      Route(
        path: "/images/*",
        fields: [("Set-Cookie", "visit=1"), ("ETag", "\"1\""), ("Content-Type", "image/jpeg")],
        shows: [.field("Accept")])
    ],
    visitors: [
      "guest": [], "other": cookie("_ga=2"), "avif": [("Accept", "image/avif,image/webp,*/*")],
      "webp": [("Accept", "image/webp,*/*")],
    ],
    paths: ["/images/a.jpg", "/Images/a.jpg", "/images/b/../a.jpg"],
    shared: [("/images/a.jpg", "guest", "other"), ("/images/a.jpg", "avif", "avif")],
    survives: [("/images/a.jpg", "webp", 8 * 86_400)])
}
