//! `image_generate`: a picture from words.
//!
//! Sources (read 2026-11): OpenAI's reference of `/v1/images/generations` (GPT image models answer with
//! base64), fal's `fal.run` endpoints (answer with an address).

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use herm_schema::events::ToolFacts;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Chosen, Maker, found_again, keep, making, place, source};
use crate::providers::BoxFuture;
use crate::tools::vendors::{Auth, Caller, Wire};
use crate::tools::web::Guard;
use crate::tools::web::fetch::Fetcher;
use crate::tools::{Recovered, ToolContext, ToolResult, Typed, outcome};

/// Time that a picture may take.
const TIME_MAX: Duration = Duration::from_secs(180);
/// Bytes of a picture, at most.
const PICTURE_BYTES_MAX: usize = 64 << 20;
/// Pictures that one is made after, at most.
const REFERENCES_MAX: usize = 8;

/// What is to be drawn.
pub(super) struct Wanted<'a> {
    pub prompt: &'a str,
    pub aspect: Aspect,
    pub model: Option<&'a str>,
    /// Addresses of pictures that it is made after.
    pub references: Vec<&'a str>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    #[default]
    Landscape,
    Square,
    Portrait,
}

/// A picture, or where it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Drawn {
    Bytes(Vec<u8>),
    At(String),
}

/// Somebody who draws.
pub(super) trait Painter: Maker {
    fn auth(&self) -> Auth;

    /// # Errors
    /// It cannot do what is wanted.
    fn ask(&self, base: &str, wanted: &Wanted<'_>) -> Result<Wire, String>;

    /// # Errors
    /// The answer holds no picture.
    fn read(&self, answer: &Value) -> Result<Drawn, String>;
}

pub(super) static PAINTERS: &[&dyn Painter] = &[&OpenAi, &Fal];

struct OpenAi;
struct Fal;

impl Maker for OpenAi {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["OPENAI_API_KEY"]
    }

    fn base(&self) -> &'static str {
        "https://api.openai.com"
    }
}

impl Painter for OpenAi {
    fn auth(&self) -> Auth {
        Auth::Bearer
    }

    fn ask(&self, base: &str, wanted: &Wanted<'_>) -> Result<Wire, String> {
        if !wanted.references.is_empty() {
            return Err(
                "`openai` draws here from words alone; `image_gen.provider: fal` takes images too".to_owned()
            );
        }
        let size = match wanted.aspect {
            Aspect::Landscape => "1536x1024",
            Aspect::Square => "1024x1024",
            Aspect::Portrait => "1024x1536",
        };
        let model = wanted.model.unwrap_or("gpt-image-1");
        let body = json!({"model": model, "prompt": wanted.prompt, "size": size, "n": 1});
        Ok(Wire::post(format!("{base}/v1/images/generations"), body))
    }

    fn read(&self, answer: &Value) -> Result<Drawn, String> {
        let first = answer.pointer("/data/0").ok_or("the answer holds no picture")?;
        if let Some(encoded) = first.get("b64_json").and_then(Value::as_str) {
            let bytes =
                STANDARD.decode(encoded).map_err(|error| format!("the picture is no base64: {error}"))?;
            return Ok(Drawn::Bytes(bytes));
        }
        let url = first.get("url").and_then(Value::as_str).ok_or("the answer holds no picture")?;
        Ok(Drawn::At(url.to_owned()))
    }
}

impl Maker for Fal {
    fn name(&self) -> &'static str {
        "fal"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["FAL_KEY", "FAL_API_KEY"]
    }

    fn base(&self) -> &'static str {
        "https://fal.run"
    }
}

impl Painter for Fal {
    fn auth(&self) -> Auth {
        Auth::Scheme("Key")
    }

    fn ask(&self, base: &str, wanted: &Wanted<'_>) -> Result<Wire, String> {
        let size = match wanted.aspect {
            Aspect::Landscape => "landscape_16_9",
            Aspect::Square => "square_hd",
            Aspect::Portrait => "portrait_16_9",
        };
        let usual = if wanted.references.is_empty() { "fal-ai/flux/dev" } else { "fal-ai/nano-banana/edit" };
        let mut body = json!({"prompt": wanted.prompt, "num_images": 1});
        if let Some(object) = body.as_object_mut() {
            match wanted.references.as_slice() {
                [] => drop(object.insert("image_size".into(), json!(size))),
                references => drop(object.insert("image_urls".into(), json!(references))),
            }
        }
        Ok(Wire::post(format!("{base}/{}", wanted.model.unwrap_or(usual)), body))
    }

    fn read(&self, answer: &Value) -> Result<Drawn, String> {
        let url = answer.pointer("/images/0/url").or_else(|| answer.pointer("/image/url"));
        let url = url.and_then(Value::as_str).ok_or("the answer holds no picture")?;
        Ok(Drawn::At(url.to_owned()))
    }
}

/// The tool.
pub struct ImageGenerate {
    pub(super) painter: Result<Chosen<dyn Painter>, String>,
    pub(super) model: Option<String>,
    pub(super) guard: Guard,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    prompt: String,
    #[serde(default)]
    aspect_ratio: Aspect,
    /// picture to change
    image_url: Option<String>,
    reference_image_urls: Option<Vec<String>>,
}

impl Typed for ImageGenerate {
    type Args = Arguments;

    fn facts(&self) -> ToolFacts {
        making("image_generate")
    }

    fn description(&self) -> &'static str {
        "Make a picture from words; gives the path of the file."
    }

    fn available(&self) -> Result<(), String> {
        self.painter.as_ref().map(drop).map_err(Clone::clone)
    }

    fn call<'a>(&'a self, args: Arguments, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            match self.drawn(args, context).await {
                Ok(path) => {
                    outcome::succeeded(&json!({"success": true, "image": path.display().to_string()}))
                }
                Err(Some(error)) => outcome::failed(error),
                Err(None) => outcome::interrupted(),
            }
        })
    }

    fn found_out<'a>(&'a self, _: &'a Value, context: &'a ToolContext) -> BoxFuture<'a, Recovered> {
        Box::pin(async move { found_again(context, &["png", "jpeg", "gif", "webp"], "image") })
    }
}

impl ImageGenerate {
    async fn drawn(&self, args: Arguments, context: &ToolContext) -> Result<PathBuf, Option<String>> {
        let chosen = self.painter.as_ref().map_err(|why| Some(why.clone()))?;
        if args.prompt.trim().is_empty() {
            return Err(Some("the prompt is empty".to_owned()));
        }
        let more = args.reference_image_urls.iter().flatten();
        let references: Vec<&str> = args.image_url.iter().chain(more).map(String::as_str).collect();
        if references.len() > REFERENCES_MAX {
            return Err(Some(format!("at most {REFERENCES_MAX} pictures can be given")));
        }
        let wanted = Wanted {
            prompt: &args.prompt,
            aspect: args.aspect_ratio,
            model: self.model.as_deref(),
            references,
        };
        let wire = chosen.maker.ask(&chosen.base, &wanted).map_err(Some)?;
        let caller = Caller::new(TIME_MAX).map_err(Some)?;
        let auth = (chosen.maker.auth(), Some(&chosen.key));
        let name = chosen.maker.name();
        let answer = caller.ask(name, wire, auth, &context.cancel).await?;
        let drawn = answer.json().and_then(|answer| chosen.maker.read(&answer));
        let bytes = match drawn.map_err(|error| Some(format!("{name}: {error}")))? {
            Drawn::Bytes(bytes) => bytes,
            Drawn::At(url) => self.downloaded(&url, chosen, &caller, context).await?,
        };
        let kind = source::media_type(&bytes).and_then(|kind| kind.strip_prefix("image/"));
        let kind = kind.ok_or_else(|| Some(format!("{name}: what came is no picture")))?;
        let path = PathBuf::from(format!("{}.{kind}", place(context).display()));
        keep(&path, &bytes).map_err(Some)?;
        Ok(path)
    }

    /// A picture that the vendor put somewhere: on its own machine, or where anybody may go.
    async fn downloaded(
        &self,
        url: &str,
        chosen: &Chosen<dyn Painter>,
        caller: &Caller,
        context: &ToolContext,
    ) -> Result<Vec<u8>, Option<String>> {
        let host = |url: &str| {
            reqwest::Url::parse(url).ok().and_then(|url| Some((url.host()?.to_owned(), url.port())))
        };
        if host(url).is_some() && host(url) == host(&chosen.base) {
            let wire = Wire::get(url.to_owned());
            return Ok(caller
                .ask(chosen.maker.name(), wire, (Auth::Nothing, None), &context.cancel)
                .await?
                .bytes);
        }
        let fetcher = Fetcher::new(&self.guard);
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => Err(None),
            fetched = fetcher.get(url, PICTURE_BYTES_MAX) => {
                fetched.map(|fetched| fetched.bytes).map_err(|error| Some(error.to_string()))
            }
        }
    }
}
