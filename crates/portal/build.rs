//! Tells cargo to build the crate again when the page was built again.
#![expect(clippy::print_stdout, reason = "this is how a build script talks to cargo")]

const DIST: &str = "../../web/dist";

fn main() {
    // Cargo cannot watch a folder that is not there: it would run this script, and build the crate, every time. If the
    // sources are read-only, that is what happens.
    let _ = std::fs::create_dir_all(DIST);
    println!("cargo:rerun-if-changed={DIST}");
}
