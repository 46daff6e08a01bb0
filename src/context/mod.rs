//! Context engines and the system prompt.
