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

# Licences, advisories, banned and doubled crates.
deny:
    cargo deny check
