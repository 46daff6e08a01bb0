//! `text_to_speech`: a sound file from a text.
//!
//! Sources (read 2026-11): OpenAI's reference of `/v1/audio/speech`, ElevenLabs' of
//! `/v1/text-to-speech/{voice}`.

use std::path::PathBuf;
use std::time::Duration;

use herm_schema::events::{Concurrency, ToolFacts};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Chosen, Maker, found_again, keep, making, place};
use crate::providers::BoxFuture;
use crate::tools::vendors::{Auth, Caller, Wire};
use crate::tools::{Recovered, ToolContext, ToolResult, Typed, outcome, paths};

/// Time that speaking may take.
const TIME_MAX: Duration = Duration::from_secs(120);

/// What is to be said.
pub(super) struct Said<'a> {
    pub text: &'a str,
    pub model: Option<&'a str>,
    pub voice: Option<&'a str>,
}

/// Somebody who speaks, in MP3.
pub(super) trait Speaker: Maker {
    fn auth(&self) -> Auth;
    /// Characters of one text, at most.
    fn chars_max(&self) -> usize;
    fn ask(&self, base: &str, said: &Said<'_>) -> Wire;
}

pub(super) static SPEAKERS: &[&dyn Speaker] = &[&OpenAi, &ElevenLabs];

struct OpenAi;
struct ElevenLabs;

impl Maker for OpenAi {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["OPENAI_API_KEY", "VOICE_TOOLS_OPENAI_KEY"]
    }

    fn base(&self) -> &'static str {
        "https://api.openai.com"
    }
}

impl Speaker for OpenAi {
    fn auth(&self) -> Auth {
        Auth::Bearer
    }

    fn chars_max(&self) -> usize {
        4_096
    }

    fn ask(&self, base: &str, said: &Said<'_>) -> Wire {
        let body = json!({
            "model": said.model.unwrap_or("gpt-4o-mini-tts"), "voice": said.voice.unwrap_or("alloy"),
            "input": said.text, "response_format": "mp3",
        });
        Wire::post(format!("{base}/v1/audio/speech"), body)
    }
}

impl Maker for ElevenLabs {
    fn name(&self) -> &'static str {
        "elevenlabs"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["ELEVENLABS_API_KEY"]
    }

    fn base(&self) -> &'static str {
        "https://api.elevenlabs.io"
    }
}

impl Speaker for ElevenLabs {
    fn auth(&self) -> Auth {
        Auth::Header("xi-api-key")
    }

    fn chars_max(&self) -> usize {
        10_000
    }

    fn ask(&self, base: &str, said: &Said<'_>) -> Wire {
        // The voice of the vendor's own examples.
        let voice = said.voice.unwrap_or("JBFqnCBsd6RMkjVDRZzb");
        let body = json!({"text": said.text, "model_id": said.model.unwrap_or("eleven_multilingual_v2")});
        Wire::post(format!("{base}/v1/text-to-speech/{voice}?output_format=mp3_44100_128"), body)
    }
}

/// The tool.
pub struct TextToSpeech {
    pub(super) speaker: Result<Chosen<dyn Speaker>, String>,
    pub(super) model: Option<String>,
    pub(super) voice: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    text: String,
    output_path: Option<String>,
}

impl Typed for TextToSpeech {
    type Args = Arguments;

    fn facts(&self) -> ToolFacts {
        let concurrency = Concurrency::Paths { arguments: vec!["output_path".into()], writes: true };
        ToolFacts { concurrency, ..making("text_to_speech") }
    }

    fn description(&self) -> &'static str {
        "Speak a text into an MP3 file; gives its path."
    }

    fn available(&self) -> Result<(), String> {
        self.speaker.as_ref().map(drop).map_err(Clone::clone)
    }

    fn call<'a>(&'a self, args: Arguments, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            match self.spoken(args, context).await {
                Ok(path) => {
                    outcome::succeeded(&json!({"success": true, "file_path": path.display().to_string()}))
                }
                Err(Some(error)) => outcome::failed(error),
                Err(None) => outcome::interrupted(),
            }
        })
    }

    fn found_out<'a>(&'a self, _: &'a Value, context: &'a ToolContext) -> BoxFuture<'a, Recovered> {
        Box::pin(async move { found_again(context, &["mp3"], "file_path") })
    }
}

impl TextToSpeech {
    async fn spoken(&self, args: Arguments, context: &ToolContext) -> Result<PathBuf, Option<String>> {
        let chosen = self.speaker.as_ref().map_err(|why| Some(why.clone()))?;
        let (length, most) = (args.text.chars().count(), chosen.maker.chars_max());
        if args.text.trim().is_empty() || length > most {
            return Err(Some(format!(
                "`{}` speaks 1 to {most} characters, not {length}",
                chosen.maker.name()
            )));
        }
        let path = match &args.output_path {
            None => PathBuf::from(format!("{}.mp3", place(context).display())),
            Some(path) => {
                let path = paths::resolve(path, &context.cwd).map_err(|error| Some(error.to_string()))?;
                paths::writable(&path, &context.home).map_err(|error| Some(error.to_string()))?
            }
        };
        let said = Said { text: &args.text, model: self.model.as_deref(), voice: self.voice.as_deref() };
        let wire = chosen.maker.ask(&chosen.base, &said);
        let caller = Caller::new(TIME_MAX).map_err(Some)?;
        let auth = (chosen.maker.auth(), Some(&chosen.key));
        let answer = caller.ask(chosen.maker.name(), wire, auth, &context.cancel).await?;
        if answer.bytes.is_empty() || answer.content_type.contains("json") {
            return Err(Some(format!("{}: the answer holds no sound", chosen.maker.name())));
        }
        keep(&path, &answer.bytes).map_err(Some)?;
        Ok(path)
    }
}
