# `make bench` and `make test` need nothing but Swift: they install libxxhash-dev if it is missing.

SWIFT ?= swift
.DEFAULT_GOAL := help
.PHONY: help bench test build lint format prepare clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-8s %s\n", $$1, $$2 }'

bench: prepare ## build for release, measure the store and real requests end to end
	$(SWIFT) build -c release --product cache-bench
	$(SWIFT) run -c release --skip-build cache-bench quick

test: prepare ## run all tests
	$(SWIFT) test

build: prepare ## build everything for debugging
	$(SWIFT) build --build-tests

lint: ## check the formatting
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests

format: ## mend the formatting
	$(SWIFT) format --in-place --recursive Package.swift Sources Tests

prepare: ## install the C library that is needed, if it is missing
	@sh scripts/prepare.sh

clean: ## remove what was built
	$(SWIFT) package clean
