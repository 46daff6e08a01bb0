//! `herm auth add`: takes a key, or what tells it, or the tokens of an account.

use clap::Args;
use serde_json::Value;

use super::ask;
use crate::config::Secret;
use crate::entry::{Exit, Failure, Out, Start, engine};
use crate::providers::catalog::Vendor;
use crate::providers::credentials::{Entry, Held, Store, Tokens};

/// Add a key or a token of a provider.
///
/// Without an option the key is read from stdin, unseen on a terminal. A command or a keyring entry
/// is kept as such, and asked when a key is needed.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  herm auth add openai
  herm auth add anthropic --label work --command 'op read op://vault/anthropic/key'
  herm auth add groq --keyring herm/groq
  herm auth add openai --from-env MY_OTHER_KEY
  herm auth add openai-codex --oauth < tokens.json")]
pub struct Add {
    /// Whose key it is.
    provider: String,

    /// Your own name for it.
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,

    /// Take the key from this variable, now.
    #[arg(long, value_name = "VARIABLE", group = "source")]
    from_env: Option<String>,

    /// A command line that prints the key.
    #[arg(long, value_name = "LINE", group = "source")]
    command: Option<String>,

    /// An entry of the system's keyring.
    #[arg(long, value_name = "SERVICE/USER", group = "source")]
    keyring: Option<String>,

    /// Tokens of an account, as JSON on stdin: `access_token`, `refresh_token`, `expires_in`.
    #[arg(long, group = "source")]
    oauth: bool,
}

pub fn run(arguments: &Add, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let loaded = start.load(&[])?;
    let vendor = super::named(&engine::catalogue(&loaded)?, &arguments.provider)?;
    let variable = |name: &str| loaded.environment.get(name).map(Secret::new);
    let held = taken(arguments, &vendor, &variable)?;
    let id = getrandom::u64().map_err(|error| Failure::message(Exit::Failed, error.to_string()))?;
    let entry = Entry {
        provider: vendor.name.clone(),
        id: format!("{id:016x}"),
        label: arguments.label.clone(),
        added_at: jiff::Timestamp::now().to_string(),
        held,
    };
    start.home.create()?;
    let fingerprint = entry.fingerprint();
    let described = entry.described();
    let known = Store::of(start.home.root()).change(|entries| {
        let same =
            |known: &&mut Entry| known.provider == entry.provider && known.fingerprint() == fingerprint;
        match entries.iter_mut().find(same) {
            Some(known) => {
                known.label = entry.label.clone().or_else(|| known.label.clone());
                true
            }
            None => {
                entries.push(entry);
                false
            }
        }
    })?;
    let what = if known { "has already" } else { "added" };
    out.line(&format!("{what} {fingerprint} of {}: {described}", vendor.name))?;
    Ok(())
}

fn usage(message: impl Into<String>) -> Failure {
    Failure::message(Exit::Usage, message.into()).hint("herm auth add --help")
}

fn taken(
    arguments: &Add,
    vendor: &Vendor,
    variable: &dyn Fn(&str) -> Option<Secret>,
) -> Result<Held, Failure> {
    if let Some(command) = &arguments.command {
        if command.trim().is_empty() {
            return Err(usage("the command line is empty"));
        }
        return Ok(Held::Command { command: command.clone() });
    }
    if let Some(place) = &arguments.keyring {
        let parts = place.split_once('/').filter(|(service, user)| !service.is_empty() && !user.is_empty());
        let (service, user) = parts.ok_or_else(|| usage(format!("`{place}` is no `SERVICE/USER`")))?;
        return Ok(Held::Keyring { service: service.to_owned(), user: user.to_owned() });
    }
    if let Some(name) = &arguments.from_env {
        let secret = variable(name).ok_or_else(|| usage(format!("the variable `{name}` is not set")))?;
        return key(secret.reveal());
    }
    if arguments.oauth {
        return tokens(&ask::all()?, vendor).map(Held::Oauth);
    }
    if vendor.oauth {
        let message = format!("`{}` takes tokens of an account, not a key: use --oauth", vendor.name);
        return Err(usage(message));
    }
    key(ask::secret(&format!("Key for {}: ", vendor.name))?.reveal())
}

/// A key as it may stand in a header.
fn key(text: &str) -> Result<Held, Failure> {
    match text.trim() {
        "" => Err(usage("no key was given")),
        text if text.chars().any(|c| c.is_control() || c.is_whitespace()) => {
            Err(usage("that is no key: it has spaces or control characters"))
        }
        text => Ok(Held::Key { secret: Secret::new(text) }),
    }
}

/// Tokens as a token server gives them, or as another program keeps them under `tokens`.
pub(super) fn tokens(text: &str, vendor: &Vendor) -> Result<Tokens, Failure> {
    // What stands there is not repeated: it may be half a token.
    let value: Value = serde_json::from_str(text).map_err(|_| usage("stdin is no JSON"))?;
    let value = value.get("tokens").unwrap_or(&value);
    let field = |name: &str| value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let needed = |name: &str| field(name).ok_or_else(|| usage(format!("`{name}` is missing")));
    let known = |name: &str, known: &Option<String>| {
        let given = field(name).map(str::to_owned).or_else(|| known.clone());
        given.ok_or_else(|| {
            usage(format!("`{name}` is missing, and the catalogue has none for `{}`", vendor.name))
        })
    };
    let number = |name: &str| value.get(name).and_then(Value::as_i64);
    let now = jiff::Timestamp::now().as_second();
    let at = number("expires_at").or_else(|| number("expires_in").map(|seconds| now.saturating_add(seconds)));
    Ok(Tokens {
        access: Secret::new(needed("access_token")?),
        refresh: Secret::new(needed("refresh_token")?),
        // A token of which nothing is known is renewed before it is used.
        expires_at: at.or(Some(0)),
        token_url: known("token_url", &vendor.oauth_token_url)?,
        client_id: known("client_id", &vendor.oauth_client_id)?,
        quarantined: None,
    })
}
