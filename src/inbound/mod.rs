//! From an outside message to who may say what, in which session of which profile. PURE: no I/O, no
//! clock, no memory; whoever calls gives what is known and does what follows.
//!
//! In the order of the way: [`settings`] is what the configuration says; [`access`] whether somebody
//! is listened to, [`pairing`] how a stranger comes to be; [`slash`] what is asked of herm itself;
//! [`route`] which profile answers; [`session_key`] in which conversation; [`given`] what the model
//! reads. Identity is always the platform's, never a name and never a text. Start at
//! [`access::admit`].

pub mod access;
pub mod given;
pub mod pairing;
mod platform_keys;
mod reading;
pub mod route;
pub mod session_key;
pub mod settings;
pub mod slash;
pub mod slash_table;
pub mod whatsapp_id;

#[cfg(test)]
mod testing;
