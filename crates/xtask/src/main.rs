//! `cargo xtask`

fn main() -> std::process::ExitCode {
    xtask::cli::main()
}
