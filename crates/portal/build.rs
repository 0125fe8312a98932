//! Tells cargo to build the crate again when the page was built again.

const DIST: &str = "../../web/dist";

fn main() {
    // Cargo cannot watch a folder that is not there: it would run this script, and build the crate, every time. If the
    // sources are read-only, that is what happens.
    let _ = std::fs::create_dir_all(DIST);
    println!("cargo:rerun-if-changed={DIST}");
}
