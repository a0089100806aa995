//! The tools of Sluice: `cargo xtask --help`, and [`stack`], which tests use to run everything for real.

pub mod bench;
pub mod build;
pub mod checks;
pub mod cli;
pub mod clock;
pub mod command;
pub mod conformance;
pub mod console;
pub mod deploy;
pub mod dev;
pub mod edge;
pub mod faults;
pub mod fuzz;
pub mod gate;
pub mod mutants;
pub mod paths;
pub mod rush;
pub mod stack;
pub mod tools;
pub mod user;
