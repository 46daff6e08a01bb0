//! The binary: everything is in the library.

/// Gives memory back to the system that a busy hour took.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    herm::entry::main()
}
