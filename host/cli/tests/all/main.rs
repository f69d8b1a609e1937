//! Checks the program as users run it, and compiled programs against the reference interpreter.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod ab;
mod applied;
mod attention;
#[allow(dead_code, reason = "every test binary uses a part")]
#[path = "../../../plugins/tests/boundary/built.rs"]
mod built;
mod check_emitter;
mod commands;
mod configuration;
mod counts;
mod cubins;
mod deep_and_long;
mod differential;
mod documents;
mod dynamic_control_flow;
mod dynamic_interface;
mod dynamic_sizes;
mod embed;
mod emitters;
mod executables;
mod expansions;
mod explain;
mod faults;
mod faulty_disk;
mod files;
mod gpu_counts;
mod guide;
mod kernel_quality;
mod kills;
mod linear_systems;
mod lower;
mod lowerings;
mod manual_computations;
mod memory;
mod memory_limit;
mod mistakes;
mod misuse_of_routines;
mod new_emitter;
mod outputs;
mod plugins;
mod profile;
mod program;
mod random_fusions;
mod reads;
mod repeated_work;
mod reproduce;
mod selected_elements;
mod simulator;
mod software_cuda;
mod sorts;
mod special_values;
mod stablehlo;
mod streams;
mod tune;
