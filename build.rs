//! Checks gate.toml with the code that will read it, so that a mistake stops the build and names its line, and leaves it
//! as the JSON that the edge embeds.

// The gate's own modules, as they are; the build script uses a part of them.
#[allow(dead_code, unused_imports, unreachable_pub, missing_docs)]
#[path = "src/config/mod.rs"]
mod config;
#[allow(dead_code, unused_imports, unreachable_pub, missing_docs)]
#[path = "src/model/mod.rs"]
mod model;

fn main() {
    println!("cargo::rerun-if-changed=gate.toml");
    match document() {
        Ok(()) => {}
        Err(faults) => {
            for fault in faults {
                println!("cargo::error={fault}");
            }
            std::process::exit(1);
        }
    }
}

fn document() -> Result<(), Vec<String>> {
    let text =
        std::fs::read_to_string("gate.toml").map_err(|fault| vec![format!("gate.toml cannot be read: {fault}")])?;
    let json =
        config::Gate::to_json(&text).map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    let folder = std::env::var("OUT_DIR").unwrap_or_default();
    let path = std::path::Path::new(&folder).join("gate.json");
    std::fs::write(&path, json).map_err(|fault| vec![format!("{} cannot be written: {fault}", path.display())])
}
