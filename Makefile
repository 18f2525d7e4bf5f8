# `make bench`, `make bench-instructions`, `make test` and `make prepare` install what is missing, as root with apt-get or on macOS with
# Homebrew, and say so in one line. Otherwise, and in all other targets, they say what is missing.

export SWIFT ?= swift
# Where everything is built. A path outside the checkout lets several clones share the compiled packages.
export SCRATCH ?= .build
# More options of the package manager, for each build of the tests: `.ci/run` sets some.
export FLAGS ?=

# The traits of Package.swift: each builds one product and fetches what only that product needs. Most targets here switch all
# of them on, as another set of traits builds every file again.
TRAITS = --enable-all-traits
# The package manager lists the traits to the compiler in the order of a Set. With another seed of its hashes, each module of this
# package would have other flags, and be compiled again.
BUILD = SWIFT_DETERMINISTIC_HASHING=1 $(SWIFT) build $(TRAITS) --scratch-path "$(SCRATCH)"
# The tests and all that they test: each target of this package. `--build-tests` would also compile each target of the other
# packages, such as certificates and ropes, which nothing here uses.
BUILD_TESTS = $(BUILD) $(FLAGS) --product HTTPCacheEnginePackageTests
TEST = $(SWIFT) test $(TRAITS) --scratch-path "$(SCRATCH)" $(FLAGS) --disable-xctest

# Both 0 and -1 stand for no limit.
SECONDS ?= 3600
RUNS ?= -1
# Everything in Swift tells the fuzzer which of its branches were taken. gold stumbles over libFuzzer's runtime.
FUZZ_BUILD = HTTPCACHE_FUZZ=1 $(SWIFT) build $(TRAITS) -c release --scratch-path "$(SCRATCH)/fuzz" --product fuzz \
  -Xswiftc -sanitize=fuzzer $(if $(filter Linux,$(shell uname)),-Xswiftc -use-ld=lld)
# Swift's own crash reports would come before libFuzzer keeps the input.
FUZZ = SWIFT_BACKTRACE=enable=no "$(SCRATCH)/fuzz/release/fuzz"
FUZZ_LIMITS = -max_len=512 -timeout=5 -rss_limit_mb=1024 -malloc_limit_mb=64 -dict=Fuzz/fields.dict \
  -artifact_prefix="$(SCRATCH)/fuzz/findings/"

# A report fails the run, when all have been run.
TSAN = exitcode=66 second_deadlock_stack=1
# Leaks are not looked for: Swift's metadata counts as leaked.
ASAN = detect_leaks=0
STORE_TESTS = ^(HTTPCacheStore|HTTPCaching)Tests

.DEFAULT_GOAL := help
# The targets build in the same folders, and measure time: one after the other, even with `make -j`.
.NOTPARALLEL:
.PHONY: help bench bench-instructions bench-limits test test-unit test-integration test-long test-long-tiers test-busy test-session test-thread test-crash test-large soak soak-tier fleet test-address test-swift-hash conformance-live package test-package example example-catalogue example-gateway build build-tests api docs docs-test snippets options lint format prepare check clean fuzz fuzz-corpus

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-24s %s\n", $$1, $$2 }'

# MARK: Benchmarks

bench: ## measure the store and a URLSession; builds cache-bench for release, and nothing else
	@sh scripts/prepare.sh xxhash
	$(SWIFT) build --traits Benchmarks -c release --scratch-path "$(SCRATCH)/bench" --product cache-bench
	"$(SCRATCH)/bench/release/cache-bench" quick

bench-instructions: ## count instructions and allocations of single operations, and compare with the limits
	@sh scripts/prepare.sh xxhash valgrind
	@sh scripts/bench-instructions.sh

bench-limits: ## count, and write new limits
	@sh scripts/prepare.sh xxhash valgrind
	@sh scripts/bench-instructions.sh --write

# MARK: Tests

test: prepare build-tests ## run the unit and the integration tests; the last line has the totals
	@bash scripts/test.sh unit integration

test-unit: check build-tests ## run the tests without sockets, processes and real clocks; TESTS=… selects some
	@bash scripts/test.sh unit

test-integration: check build-tests ## run the tests over sockets and with processes, target by target; TESTS=… selects some
	@bash scripts/test.sh integration

test-busy: check build-tests ## run both ROUNDS times (default: 5) beside busy processes, and once on one processor
	@bash scripts/test-busy.sh

test-long: export HTTPCACHE_TEST_EFFORT = long
test-long: SECONDS = 600
test-long: test-long-tiers test-session test-crash test-large soak soak-tier fleet test-swift-hash test-thread test-address fuzz test-package docs-test ## run what takes hours: before a release; `make -k` goes on after a failure

test-long-tiers: build-tests
	@bash scripts/test.sh unit integration long

build: check ## build everything for debugging
	$(BUILD_TESTS)

build-tests: check
	@$(BUILD_TESTS)

test-session: check ## run ten thousand requests through a URLSession, a hundred at once
	STRESS_REQUESTS=10000 $(TEST) --filter HTTPCacheURLSessionTests.LongStressTests

test-thread: check ## run the tests of many threads, or TESTS, under ThreadSanitizer
	TSAN_OPTIONS="$(TSAN)" STRESS_REQUESTS=10000 $(SWIFT) test $(TRAITS) --sanitize=thread -Xswiftc -DSANITIZES_THREADS \
	  --scratch-path "$(SCRATCH)/thread" \
	  --filter "$(or $(TESTS),ThreadTests|SpareBlocksTests|MarksTests|FetchTests|StreamingTests|ConcurrencyTests|EventTests)"

test-crash: check ## kill processes over a store, and take the power from simulated ones, ROUNDS times each
	HTTPCACHE_CRASH_ROUNDS=$(or $(ROUNDS),200) $(TEST) --filter "CrashTests|PowerLossTests"

test-large: check ## let responses of 2 GiB pass through the cache, and look at the memory that takes
	HTTPCACHE_LARGE_BYTES=2147483648 $(TEST) --no-parallel --filter "LargeResponseTests|LargeClientTests"

soak: check ## send requests of all kinds through proxy and adapters for MINUTES, with a SEED, and fail if anything grows
	$(BUILD) -c release --product TestTool
	"$(SCRATCH)/release/TestTool" soak --seconds $$(( $(or $(MINUTES),10) * 60 )) $(if $(SEED),--seed $(SEED)) $(SOAK)

soak-tier: ## the same with a shared tier, whose server is killed and stopped at random
	$(MAKE) soak SOAK=--redis

fleet: check ## kill, stop and cut off proxies with a shared tier and their Redis, ROUNDS times, with a SEED
	$(BUILD) $(FLAGS) --product TestTool
	"$(SCRATCH)/debug/TestTool" fleet --rounds $(or $(ROUNDS),200) $(if $(SEED),--seed $(SEED))

test-address: check ## run the tests of store and cache, or TESTS, under AddressSanitizer
	ASAN_OPTIONS="$(ASAN)" $(SWIFT) test $(TRAITS) --sanitize=address --scratch-path "$(SCRATCH)/address" \
	  --filter "$(or $(TESTS),$(STORE_TESTS))"

test-swift-hash: check ## run the tests of store and cache, or TESTS, with the hash in Swift in the place of libxxhash
	HTTPCACHE_SWIFT_HASH=1 $(SWIFT) test $(TRAITS) --scratch-path "$(SCRATCH)/swift-hash" \
	  --filter "$(or $(TESTS),$(STORE_TESTS))"

fuzz: check ## let libFuzzer look for inputs that break the engine, for so many SECONDS
	$(FUZZ_BUILD)
	mkdir -p "$(SCRATCH)/fuzz/corpus" "$(SCRATCH)/fuzz/findings"
	$(FUZZ) $(FUZZ_LIMITS) -max_total_time=$(SECONDS) -runs=$(RUNS) -print_final_stats=1 "$(SCRATCH)/fuzz/corpus" Fuzz/Corpus

fuzz-corpus: check ## pick the few inputs that take the branches of all that were found
	$(FUZZ_BUILD)
	rm -rf "$(SCRATCH)/fuzz/merged" && mkdir -p "$(SCRATCH)/fuzz/merged"
	$(FUZZ) $(FUZZ_LIMITS) -set_cover_merge=1 -use_counters=0 "$(SCRATCH)/fuzz/merged" "$(SCRATCH)/fuzz/corpus" Fuzz/Corpus

conformance-live: check ## run the scenarios, or those of FILE, through proxies over sockets in real time
	$(BUILD) -c release --product httpcache
	for kind in shared cdn private; do \
	  echo "$$kind:"; "$(SCRATCH)/release/httpcache" conform --live --cache $$kind $(or $(FILE),Tests/CommandTests/Unit/Conformance/Scenarios/*.json) || exit 1; \
	done

# MARK: The package

PACKAGE_BUILD = SWIFT_DETERMINISTIC_HASHING=1 $(SWIFT) build -c release --traits CommandLine,TLS,Redis \
  --scratch-path "$(SCRATCH)/package" --product httpcache --static-swift-stdlib -debug-info-format none -Xlinker -s

package: check ## build httpcache for release, and write a Debian package, an archive and checksums to SCRATCH/package/dist
	$(PACKAGE_BUILD)
	@bash scripts/package.sh

test-package: check ## install, start, reload, upgrade and purge the package in a fresh Debian with systemd; as root
	$(PACKAGE_BUILD)
	@bash scripts/package-test.sh

# MARK: Examples

example: check ## build Examples/FeedReader and run it, with its server, offline first, and without its server
	$(SWIFT) build --package-path Examples/FeedReader
	@rm -rf "$${TMPDIR:-/tmp}/feed-reader"
	Examples/FeedReader/.build/debug/FeedReader
	Examples/FeedReader/.build/debug/FeedReader --offline-first
	Examples/FeedReader/.build/debug/FeedReader --offline

example-gateway: check ## test Examples/Gateway and take its tour: cached upstream calls and routes, an upstream down
	$(SWIFT) test --package-path Examples/Gateway
	Examples/Gateway/.build/debug/Gateway --tour

example-catalogue: check ## build Examples/Catalogue and take its tour: cached routes, rules, conditions, invalidation
	$(SWIFT) build --package-path Examples/Catalogue
	Examples/Catalogue/.build/debug/CatalogueServer --tour

# MARK: Documentation

api: build-tests ## write Documentation/API, the list of all public declarations
	rm -rf "$(SCRATCH)/graphs" && bash scripts/symbol-graphs.sh "$(SCRATCH)/graphs"
	"$(SCRATCH)/debug/TestTool" api "$(SCRATCH)/graphs"

docs: build-tests ## build the documentation site in SCRATCH/site from the same build as the tests; a warning is an error
	@bash scripts/docs.sh

docs-test: ## run the commands of the documentation, or of PAGES, in a fresh clone of the last commit
	@clone=$$(mktemp -d) && trap 'rm -rf "$$clone"' EXIT && git clone --quiet . "$$clone/HTTPCacheEngine" \
	  && cd "$$clone/HTTPCacheEngine" && env -u SCRATCH -u FLAGS bash scripts/docs-test.sh $(PAGES)

snippets: check ## write Tests/PackageTests/Unit/Snippets/Generated, the code in the articles, and the output in Documentation/Catalogue.md
	HTTPCACHE_WRITE_SNIPPETS=1 $(TEST) --filter 'SnippetTests|CatalogueTests'

options: check ## write the manual pages from the help of httpcache
	$(BUILD) $(FLAGS) --product httpcache
	$(BUILD) $(FLAGS) --product TestTool
	"$(SCRATCH)/debug/httpcache" --experimental-dump-help | "$(SCRATCH)/debug/TestTool" options

# MARK: Text

SOURCES = Package.swift Sources Tests Fuzz Examples/*/Package.swift Examples/*/Sources Examples/*/Tests Benchmarks

lint: ## check the formatting, the licence headers, the words of the text, what tests may use, and octets read as text
	$(SWIFT) format lint --strict --parallel --recursive $(SOURCES)
	@sh scripts/check-headers.sh
	@sh scripts/check-terms.sh
	@sh scripts/check-tests.sh
	@sh scripts/check-octets.sh

format: ## correct the formatting
	$(SWIFT) format --in-place --recursive $(SOURCES)

# MARK: Preparing

prepare: ## install libxxhash, libhiredis, libyaml, redis-server, openssl, perl and curl, if they are missing
	@sh scripts/prepare.sh

check:
	@sh scripts/prepare.sh --check

clean: ## remove what was built
	$(SWIFT) package --scratch-path "$(SCRATCH)" clean
