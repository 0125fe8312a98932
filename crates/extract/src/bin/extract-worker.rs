//! The child process on its own, for tests and for programs that are no good parents of themselves.

fn main() -> std::io::Result<()> {
    extract::work()
}
