# `make bench` and `make test` need nothing but Swift: they install libxxhash-dev if it is missing.

SWIFT ?= swift

# The traits of Package.swift: each builds one product and fetches what only that product needs. Everything here switches all
# of them on, as another set of traits builds every file again.
TRAITS = --enable-all-traits

DOCUMENTED = HTTPCacheEngine HTTPCacheStore HTTPCaching HTTPCacheURLSession HTTPCacheTesting HTTPCacheObserving HTTPCacheProxy HTTPCacheHummingbird HTTPCacheAsyncHTTPClient HTTPCacheTracing HTTPCacheRedis

# Both 0 and -1 stand for no limit.
SECONDS ?= 3600
RUNS ?= -1
FUZZ_BUILD = HTTPCACHE_FUZZ=1 $(SWIFT) build $(TRAITS) -c release --scratch-path .build/fuzz --product fuzz
# Swift's own crash reports would come before libFuzzer keeps the input.
FUZZ = SWIFT_BACKTRACE=enable=no .build/fuzz/release/fuzz
FUZZ_LIMITS = -max_len=512 -timeout=5 -rss_limit_mb=1024 -malloc_limit_mb=64 -dict=Fuzz/fields.dict \
  -artifact_prefix=.build/fuzz/findings/

# A report fails the run, when all have been run.
TSAN = exitcode=66 second_deadlock_stack=1
# Leaks are not looked for: Swift's metadata counts as leaked.
ASAN = detect_leaks=0

.DEFAULT_GOAL := help
.PHONY: help bench bench-instructions bench-limits test test-session test-session-thread test-hummingbird test-hummingbird-thread test-redis test-redis-thread test-thread test-crash test-large soak fleet test-address test-swift-hash test-swift-hash-store conformance-live example example-gateway build api docs docs-test snippets options lint format prepare clean fuzz fuzz-corpus

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-18s %s\n", $$1, $$2 }'

bench: prepare ## build for release, measure the store and real requests end to end
	$(SWIFT) build $(TRAITS) -c release --product cache-bench
	$(SWIFT) run $(TRAITS) -c release --skip-build cache-bench quick

bench-instructions: prepare ## count instructions and allocations of single operations, and compare with the limits
	@sh scripts/bench-instructions.sh

bench-limits: prepare ## count, and write new limits
	@sh scripts/bench-instructions.sh --write

test: prepare ## run all tests; when some fail, say at the end again which
	@SWIFT="$(SWIFT)" bash scripts/test.sh

test-session: prepare ## run ten thousand requests through a URLSession, a hundred at once
	STRESS_REQUESTS=10000 $(SWIFT) test $(TRAITS) --filter HTTPCacheURLSessionStressTests.StressTests

test-session-thread: prepare ## run them, and all tests of the adapter, under ThreadSanitizer
	HTTPCACHE_SANITIZER=session TSAN_OPTIONS="$(TSAN)" STRESS_REQUESTS=10000 $(SWIFT) test $(TRAITS) --sanitize=thread \
	  --scratch-path .build/thread-session --filter "$(or $(TESTS),^HTTPCacheURLSession)"

test-hummingbird: prepare ## run the tests of the middleware for Hummingbird, which builds no other targets
	HTTPCACHE_SANITIZER=hummingbird $(SWIFT) test --traits Hummingbird --scratch-path .build/hummingbird \
	  --filter "$(or $(TESTS),HTTPCacheHummingbirdTests|LocalOriginTests)"

test-hummingbird-thread: prepare ## run them under ThreadSanitizer
	HTTPCACHE_SANITIZER=hummingbird-thread TSAN_OPTIONS="$(TSAN)" $(SWIFT) test --traits Hummingbird --sanitize=thread \
	  --scratch-path .build/thread-hummingbird --filter "$(or $(TESTS),HTTPCacheHummingbirdTests)"

test-redis: prepare ## run the tests of the tier on Redis, which builds no other targets
	HTTPCACHE_SANITIZER=redis $(SWIFT) test --traits Redis --scratch-path .build/redis \
	  --filter "$(or $(TESTS),HTTPCacheRedisTests)"

test-redis-thread: prepare ## run them under ThreadSanitizer
	HTTPCACHE_SANITIZER=redis-thread TSAN_OPTIONS="$(TSAN)" $(SWIFT) test --traits Redis --sanitize=thread \
	  --scratch-path .build/thread-redis --filter "$(or $(TESTS),HTTPCacheRedisTests)"

test-thread: prepare ## run the tests of many threads under ThreadSanitizer
	HTTPCACHE_SANITIZER=thread TSAN_OPTIONS="$(TSAN)" $(SWIFT) test $(TRAITS) --sanitize=thread --scratch-path .build/thread \
	  --filter "$(or $(TESTS),ThreadTests|SpareBlocksTests|MarksTests|FlightTests|StreamingTests|ConcurrencyTests|EventTests)"

test-crash: prepare ## kill processes over a store, and take the power from simulated ones, ROUNDS times each
	HTTPCACHE_CRASH_ROUNDS=$(or $(ROUNDS),200) $(SWIFT) test $(TRAITS) --filter "CrashTests|PowerLossTests"

test-large: prepare ## let responses of 2 GiB pass through the cache, and look at the memory that takes
	HTTPCACHE_LARGE_BYTES=2147483648 $(SWIFT) test $(TRAITS) --no-parallel --filter "LargeResponseTests|LargeClientTests"

soak: prepare ## send requests of all kinds through proxy and adapters for MINUTES, with a SEED, and fail if anything grows
	$(SWIFT) build $(TRAITS) -c release --product Soak
	.build/release/Soak --seconds $$(( $(or $(MINUTES),10) * 60 )) $(if $(SEED),--seed $(SEED))

fleet: prepare ## kill, stop and cut off proxies with a shared tier and their Redis, ROUNDS times, with a SEED
	$(SWIFT) build $(TRAITS) --product FleetDriver
	.build/debug/FleetDriver --rounds $(or $(ROUNDS),200) $(if $(SEED),--seed $(SEED))

test-address: prepare ## run the tests of store and cache under AddressSanitizer
	HTTPCACHE_SANITIZER=address ASAN_OPTIONS="$(ASAN)" $(SWIFT) test $(TRAITS) --sanitize=address --scratch-path .build/address \
	  --filter "$(or $(TESTS),.)"

test-swift-hash: prepare ## run all tests, or those of TESTS, with the hash in Swift in the place of libxxhash
	HTTPCACHE_SWIFT_HASH=1 SWIFT="$(SWIFT)" bash scripts/test.sh --scratch-path .build/swift-hash \
	  --filter "$(or $(TESTS),.)"

test-swift-hash-store: prepare ## the same of the tests of store and cache, which builds no other targets
	HTTPCACHE_SWIFT_HASH=1 HTTPCACHE_SANITIZER=none SWIFT="$(SWIFT)" bash scripts/test.sh \
	  --scratch-path .build/swift-hash-store --filter "$(or $(TESTS),.)"

fuzz: prepare ## let libFuzzer look for inputs that break the engine, for so many SECONDS
	$(FUZZ_BUILD)
	mkdir -p .build/fuzz/corpus .build/fuzz/findings
	$(FUZZ) $(FUZZ_LIMITS) -max_total_time=$(SECONDS) -runs=$(RUNS) -print_final_stats=1 .build/fuzz/corpus Fuzz/Corpus

fuzz-corpus: ## pick the few inputs that take the branches of all that were found
	$(FUZZ_BUILD)
	rm -rf .build/fuzz/merged && mkdir -p .build/fuzz/merged
	$(FUZZ) $(FUZZ_LIMITS) -set_cover_merge=1 -use_counters=0 .build/fuzz/merged .build/fuzz/corpus Fuzz/Corpus

conformance-live: prepare ## run the scenarios, or those of FILE, through proxies over sockets in real time
	$(SWIFT) build $(TRAITS) -c release --product httpcache
	for kind in shared cdn private; do \
	  echo "$$kind:"; .build/release/httpcache conform --live --cache $$kind $(or $(FILE),Tests/Unit/ConformanceTests/Scenarios/*.json) || exit 1; \
	done

example: prepare ## build Examples/FeedReader and run it, with its server, offline first, and without its server
	$(SWIFT) build --package-path Examples/FeedReader
	@rm -rf "$${TMPDIR:-/tmp}/feed-reader"
	Examples/FeedReader/.build/debug/FeedReader
	Examples/FeedReader/.build/debug/FeedReader --offline-first
	Examples/FeedReader/.build/debug/FeedReader --offline

example-gateway: prepare ## build Examples/Gateway and take its tour: cached upstream calls and routes, an upstream down
	$(SWIFT) build --package-path Examples/Gateway
	Examples/Gateway/.build/debug/Gateway --tour

build: prepare ## build everything for debugging
	$(SWIFT) build $(TRAITS) --build-tests

api: ## write Documentation/API, the list of all public declarations
	$(SWIFT) run $(TRAITS) APIDigest

docs: prepare ## build the documentation site in .build/site; a warning is an error
	HTTPCACHE_DOCS=1 $(SWIFT) package $(TRAITS) --scratch-path .build/docs --allow-writing-to-directory .build/site \
	  generate-documentation --enable-experimental-combined-documentation --warnings-as-errors \
	  $(foreach product,$(DOCUMENTED),--target $(product)) \
	  --output-path .build/site --transform-for-static-hosting --hosting-base-path /

docs-test: ## run the commands of the documentation, or of PAGES, in a fresh clone of the last commit
	@clone=$$(mktemp -d) && trap 'rm -rf "$$clone"' EXIT && git clone --quiet . "$$clone/HTTPCacheEngine" \
	  && cd "$$clone/HTTPCacheEngine" && bash scripts/docs-test.sh $(PAGES)

snippets: ## write Tests/Unit/SnippetTests/Generated: the code in the README and in the articles
	HTTPCACHE_WRITE_SNIPPETS=1 $(SWIFT) test $(TRAITS) --filter SnippetTests

options: ## write Documentation/Operating/Options.md and the manual pages, from the help of httpcache
	$(SWIFT) build $(TRAITS) --product httpcache
	$(SWIFT) build $(TRAITS) --product OptionsReference
	.build/debug/httpcache --experimental-dump-help | .build/debug/OptionsReference

lint: ## check the formatting, the licence headers, and the words of the text
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests Fuzz Examples/*/Package.swift \
	  Examples/*/Sources Benchmarks/Package.swift \
	  Benchmarks/Sources Benchmarks/Benchmarks
	@sh scripts/check-headers.sh
	@sh scripts/check-terms.sh

format: ## correct the formatting
	$(SWIFT) format --in-place --recursive Package.swift Sources Tests Fuzz Examples/*/Package.swift \
	  Examples/*/Sources Benchmarks/Package.swift \
	  Benchmarks/Sources Benchmarks/Benchmarks

prepare: ## install the C library that is needed, if it is missing
	@sh scripts/prepare.sh

clean: ## remove what was built
	$(SWIFT) package clean
