//! Whole conversations through the real runtime, in a scripted world.
//!
//! [`world`] is what herm meets: a model, tools, people, a platform. [`checks`] are the invariants
//! of the architecture page. [`scenarios`] runs conversations undisturbed, [`crash_points`] cuts
//! each after every event, [`simulation`] draws worlds and crashes from seeds, [`isolation`] breaks
//! one thing at a time, [`approvals`] asks people, settings and models. [`border`] and [`tidy`] are house rules.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests may panic")]

mod approvals;
mod border;
mod checks;
mod crash_cases;
mod crash_points;
mod isolation;
mod memory;
mod scenarios;
mod simulation;
mod tidy;
mod world;
