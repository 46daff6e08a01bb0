//! Session actors: fold, decide, append, run what is owed.
