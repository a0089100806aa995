//! Any text as gate.toml: a configuration, or faults whose lines are there.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluice::config::Gate;

fuzz_target!(|text: &str| {
    match Gate::parse(text) {
        Ok(gate) => {
            assert!(gate.routes.iter().flat_map(|route| &route.limits).all(|at| *at < gate.limits.len()));
            let _ = gate.route("GET", "/v1/sales/demo");
        }
        Err(faults) => {
            assert!(!faults.is_empty());
            let lines = text.split('\n').count();
            assert!(faults.iter().all(|fault| (1..=lines).contains(&fault.line)), "{faults:?}");
        }
    }
});
