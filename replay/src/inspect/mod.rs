//! The debugger: verify, timeline, state, diff, prompt, simulate.
