//! Exports: events and trajectories, from the log alone.
