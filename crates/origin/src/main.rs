//! `sluice-origin`: see `sluice-origin --help`.

fn main() -> std::process::ExitCode {
    sluice_origin::cli::main()
}
