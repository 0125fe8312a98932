//! The child process as a program, for tests and for programs that cannot start themselves as a child.

fn main() -> std::io::Result<()> {
    extract::work()
}
