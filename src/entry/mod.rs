//! Ways in: the command line. Wiring and printing only.
