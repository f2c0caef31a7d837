# Every developer command. Each recipe is one plain command: without `just`, copy the line.

# List the commands.
default:
    @just --list

# Everything that must hold before a change is merged.
ci:
    .ci/run

# Every test, Rust and Python; makes its own virtual environment. Arguments go to pytest.
test *arguments:
    scripts/test {{arguments}}

# Tests that need an NVIDIA GPU; says why where there is none. Arguments go to pytest.
test-gpu *arguments:
    scripts/test-gpu {{arguments}}

# The Rust ones of them that need one GPU under compute-sanitizer.
test-sanitizer *arguments:
    scripts/test-sanitizer {{arguments}}

# Compile the CUDA kernels into the code that every build embeds; installs the compilers under target/.
kernels *arguments:
    scripts/kernels {{arguments}}

# Rust tests only; fast, no Python needed.
test-rust *arguments:
    cargo test --locked {{arguments}}

# Python tests only, with the wheel that the last `just test` installed.
test-python *arguments:
    .venv/bin/python -m pytest -q tests/python {{arguments}}

# Random workspaces against pyhf, at length: `just property 10000 7`.
property n="10000" seed="1" jobs="2":
    .venv/bin/python tests/python/property_run.py --n {{n}} --seed {{seed}} --jobs {{jobs}}

# Format the code.
format:
    cargo fmt --all

# Lints, with warnings as errors.
lint:
    cargo clippy --locked --workspace --all-targets -- -D warnings

# Licences, duplicate versions and sources of dependencies, against deny.toml.
licences:
    python3 scripts/check_licences.py

# API documentation, with warnings as errors.
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps

# The documentation as a site, in target/site: `just site --install` the first time, `just site serve` to look at it.
site *arguments:
    scripts/site {{arguments}}

# Write the references of the command and of the Python package, after `just test`.
reference *arguments:
    .venv/bin/python scripts/reference {{arguments}}

# Draw the chart of the read-me from the tables of docs/benchmarks.md.
charts:
    scripts/charts

# Write tests/fixtures anew.
fixtures:
    python3 scripts/make_fixtures.py

# Fit the example workspace.
example:
    cargo run --release -p ns-cli -- fit -i tests/fixtures/simple_workspace.json

# Build and install the wheel (release profile) into the active Python environment.
install-python:
    python3 -m pip install ./bindings/ns-py

# The wheel of a target, or `sdist`, into dist/: `just wheel x86_64-unknown-linux-gnu`.
wheel target:
    scripts/wheels {{target}}

# The programs of a target as an archive, into dist/.
programs target *arguments:
    scripts/programs {{target}} {{arguments}}

# Criterion benches of load, compile, value, gradient, curvature and fit.
bench *arguments:
    cargo bench {{arguments}}

# Environments and binaries that the benches against peers need, under target/peers.
bench-setup:
    benches/peers/setup

# Ours and peers in one run: `just bench-peers ws1.json ws2.json`.
bench-peers +workspaces:
    python3 benches/peers/compare.py {{workspaces}}

# Toys per second of ours, the peer and pyhf: `just bench-toys --repeat 1`.
bench-toys *arguments:
    python3 benches/peers/toys.py {{arguments}}

# How toys of a workspace end, and whether other starts find lower minima: `just check-toys ws.json 20000 1 200`.
check-toys *arguments:
    cargo run --release -p ns-inference --example check_toys -- {{arguments}}

# Time and memory as models grow: `just bench-scaling ws1.json ws2.json`.
bench-scaling +workspaces:
    python3 benches/peers/scaling.py {{workspaces}}

# Fuzz a target for some seconds (needs a nightly compiler and cargo-fuzz).
fuzz target seconds="3600":
    cargo +nightly fuzz run {{target}} -- -max_total_time={{seconds}}
