//! Where command lines run.
