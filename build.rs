//! Checks gate.toml with the code that will read it, so that a mistake stops the build and names its line.

// The gate's own modules, as they are; the build script uses a part of them.
#[allow(dead_code, unused_imports, unreachable_pub, missing_docs)]
#[path = "src/config/mod.rs"]
mod config;
#[allow(dead_code, unused_imports, unreachable_pub, missing_docs)]
#[path = "src/model/mod.rs"]
mod model;

fn main() {
    println!("cargo::rerun-if-changed=gate.toml");
    let text = std::fs::read_to_string("gate.toml").unwrap_or_else(|fault| {
        println!("cargo::error=gate.toml cannot be read: {fault}");
        std::process::exit(1);
    });
    if let Err(faults) = config::Gate::parse(&text) {
        for fault in faults {
            println!("cargo::error={fault}");
        }
        std::process::exit(1);
    }
}
