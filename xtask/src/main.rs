//! The `cargo xtask` program; the library of the same name does the work.

fn main() -> std::process::ExitCode {
    xtask::main()
}
