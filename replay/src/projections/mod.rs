//! Projections: pure folds of the log, each with a checkpoint in its own store.
