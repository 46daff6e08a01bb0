//! DATA: vendors that speak chat completions, and local servers. A vendor is a row.
//!
//! Order is preference: with several keys set, the first row that has one is taken.

mod vendors;

use super::dialects::chat_completions::Quirks;

pub use vendors::{LOCAL_SERVERS, VENDORS};

/// One vendor.
#[derive(Clone, Debug)]
pub struct Vendor {
    pub name: &'static str,
    pub base_url: &'static str,
    /// Variables that may hold its key, first come first.
    pub key_variables: &'static [&'static str],
    /// What is taken where no model is named.
    pub model: &'static str,
    /// Beginnings of the names of models that are its own.
    pub model_prefixes: &'static [&'static str],
    /// Context window of its models in tokens, where none is configured.
    pub context_window_tokens: u32,
    pub quirks: Quirks,
}

/// A server on this machine.
#[derive(Clone, Copy, Debug)]
pub struct LocalServer {
    pub name: &'static str,
    pub port: u16,
}

impl LocalServer {
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }
}

/// The vendor of this name.
pub fn vendor(name: &str) -> Option<&'static Vendor> {
    VENDORS.iter().find(|vendor| vendor.name == name)
}

/// The local server of this name.
pub fn local_server(name: &str) -> Option<&'static LocalServer> {
    LOCAL_SERVERS.iter().find(|server| server.name == name)
}
