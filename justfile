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

# The suites of the clients, against the debug build, with so many rounds of cut connections and killed servers.
clients rounds="5":
    cargo build --locked -p bobbin-cli
    .ci/clients {{rounds}}

# Formats the page and the TypeScript client, and mends what the linter can mend.
format-page:
    cd clients/page && npm ci && npm run format

# The page in Chromium: all stories, with the scripted provider.
page:
    cargo build --locked -p bobbin-cli -p bobbin-xtask
    cd clients/page && npm ci && npm run lint && npm test

# Licences, advisories, banned and doubled crates.
deny:
    cargo deny check
