//! Tools that see, draw and speak: `vision_analyze`, `image_generate`, `text_to_speech`.
//!
//! Who draws and who speaks is behind a trait each ([`images::Painter`], [`speech::Speaker`]) with a row
//! a vendor; what is looked at is shown to the model of the auxiliary task. What is made lies below
//! herm's home, a folder a session, under the name of its call, so that it is found again after a crash.

mod images;
mod source;
mod speech;
mod vision;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use herm_schema::events::{Concurrency, EffectClass, ToolFacts};
use serde_json::json;

use super::vendors::Vendors;
use super::web::Guard;
use super::{Recovered, Tool, ToolContext, outcome, typed};
use crate::config::{Config, Secret};

/// The three tools, as the configuration and the keys at hand have them.
pub fn tools(config: &Config, vendors: &Vendors<'_>, guard: &Guard) -> Vec<Arc<dyn Tool>> {
    let painter = chosen(images::PAINTERS, config.images.provider.as_deref(), vendors, "image_gen.provider");
    let speaker = chosen(speech::SPEAKERS, config.speech.provider.as_deref(), vendors, "tts.provider");
    vec![
        Arc::new(vision::VisionAnalyze { guard: guard.clone() }),
        Arc::new(images::ImageGenerate { painter, model: config.images.model.clone(), guard: guard.clone() }),
        Arc::new(speech::TextToSpeech {
            speaker,
            model: config.speech.model.clone(),
            voice: config.speech.voice.clone(),
        }),
    ]
}

/// What is the same of all who make something.
pub(super) trait Maker: Sync {
    fn name(&self) -> &'static str;
    /// Variables that its key may be in.
    fn keys(&self) -> &'static [&'static str];
    fn base(&self) -> &'static str;
}

/// A maker with its address and key.
pub(super) struct Chosen<M: ?Sized + 'static> {
    pub maker: &'static M,
    pub base: String,
    pub key: Secret,
}

/// The configured one, or the first that a key is found for; else what is missing.
fn chosen<M: Maker + ?Sized>(
    all: &[&'static M],
    wanted: Option<&str>,
    vendors: &Vendors<'_>,
    setting: &str,
) -> Result<Chosen<M>, String> {
    let candidates: Vec<&'static M> =
        all.iter().copied().filter(|maker| wanted.is_none_or(|name| name == maker.name())).collect();
    let with_key = |maker: &&'static M| {
        let key = vendors.key(maker.keys())?;
        Some(Chosen { maker: *maker, base: vendors.endpoint(maker.name(), maker.base()), key })
    };
    candidates.iter().find_map(with_key).ok_or_else(|| {
        let variables: Vec<&str> =
            candidates.iter().filter_map(|maker| maker.keys().first().copied()).collect();
        format!("no key: set {} in `.env` (`{setting}`)", variables.join(" or "))
    })
}

/// Facts of a tool that makes something: it costs each time, so it is not simply made again.
fn making(name: &str) -> ToolFacts {
    ToolFacts { effect: EffectClass::Once, concurrency: Concurrency::Parallel, ..typed::reading(name) }
}

/// Where what a call makes is put, without an extension.
fn place(context: &ToolContext) -> PathBuf {
    context.home.join("media").join(context.session.to_string()).join(context.call.to_string())
}

/// Writes what was made: whole, or not at all.
fn keep(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let write = || -> std::io::Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let beside = path.with_file_name(format!(".{name}.new"));
        std::fs::write(&beside, bytes)?;
        std::fs::rename(&beside, path).inspect_err(|_| drop(std::fs::remove_file(&beside)))
    };
    write().map_err(|error| format!("cannot write `{}`: {error}", path.display()))
}

/// What became of a call whose result is a file of one of these kinds.
fn found_again(context: &ToolContext, extensions: &[&str], field: &str) -> Recovered {
    let place = place(context);
    // Not `with_extension`: the name of a call has a dot of its own.
    let candidate = |extension: &&str| PathBuf::from(format!("{}.{extension}", place.display()));
    let made = extensions.iter().map(candidate).find(|path| path.is_file());
    made.map_or(Recovered::Unknown, |path| {
        Recovered::Finished(outcome::succeeded(&json!({"success": true, field: path.display().to_string()})))
    })
}

#[cfg(test)]
mod tests;
