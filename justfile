# One-liners. Chores with logic in them are `cargo xtask`.

# What CI runs.
check:
    bash .ci/run

# One crate while working on it: `just one peer`.
one crate:
    cargo fmt -p bobbin-{{crate}}
    cargo clippy -p bobbin-{{crate}} --all-targets -- -D warnings
    cargo nextest run -p bobbin-{{crate}}

# The wire's JSON Schema, after a change of a native type.
schema:
    cargo xtask schema

# The TypeScript client, against the debug build.
client:
    cargo build --locked -p bobbin-appserver
    cd clients/typescript && npm ci && npm run check && BOBBIN_BIN="$PWD/../../target/debug/bobbin" npm test

# The page in Chromium: all stories, with the scripted provider.
page:
    cargo build --locked -p bobbin-appserver -p bobbin-xtask
    cd clients/page && npm ci && npm test

# Licences, advisories, banned and doubled crates.
deny:
    cargo deny check
