//! Links the program to a fixed address on Linux.
//!
//! The program starts several times for each command of an agent: as a parent, and as a helper in the sandbox. A program
//! that may lie anywhere corrects 100,000 addresses at each start; that was half of its 3 ms. Stack, heap and libraries
//! still lie at random addresses.

#[expect(
    clippy::disallowed_methods,
    reason = "cargo says the target in the environment"
)]
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = |name: &str| std::env::var(name).unwrap_or_default();
    if target("CARGO_CFG_TARGET_OS") == "linux" && target("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo:rustc-link-arg-bin=bobbin=-no-pie");
    }
}
