//! Any text as gate.toml, and as the JSON of the edge: a configuration, or faults whose places are there; and both forms
//! of one document mean the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluice::config::Gate;

fuzz_target!(|text: &str| {
    match Gate::parse(text) {
        Ok(gate) => {
            assert!(gate.routes.iter().flat_map(|route| &route.limits).all(|at| *at < gate.limits.len()));
            let _ = gate.route("GET", "/v1/sales/demo");
            let json = Gate::to_json(text).expect("a sound document");
            assert_eq!(Gate::from_json(&json).as_ref(), Ok(&gate));
        }
        Err(faults) => {
            assert!(!faults.is_empty());
            let lines = text.split('\n').count();
            assert!(faults.iter().all(|fault| (1..=lines).contains(&fault.place.line)), "{faults:?}");
        }
    }
    if let Err(faults) = Gate::from_json(text) {
        assert!(!faults.is_empty());
    }
});
