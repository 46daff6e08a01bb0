//! One credential as it is kept.

use serde::{Deserialize, Serialize};

use crate::config::Secret;

/// What `herm auth add` was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Name in the catalogue.
    pub provider: String,
    /// Never changes; names the tokens of an account, which do.
    pub id: String,
    /// A person's own name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// RFC 3339.
    #[serde(default)]
    pub added_at: String,
    #[serde(flatten)]
    pub held: Held,
}

/// What is kept of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Held {
    /// The key itself.
    Key {
        #[serde(with = "plain")]
        secret: Secret,
    },
    /// A command line that prints it, such as `op read op://vault/item/key`.
    Command { command: String },
    /// An entry of the system's keyring.
    Keyring { service: String, user: String },
    /// An account's tokens.
    Oauth(Tokens),
}

/// The tokens of an account (RFC 6749).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    #[serde(with = "plain")]
    pub access: Secret,
    #[serde(with = "plain")]
    pub refresh: Secret,
    /// Seconds since the epoch; `None` if it does not run out.
    #[serde(default)]
    pub expires_at: Option<i64>,
    pub token_url: String,
    pub client_id: String,
    /// Why it is not used any more, until a person adds it anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantined: Option<String>,
}

/// A secret's text, in this file and nowhere else.
mod plain {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::config::Secret;

    pub fn serialize<S: Serializer>(secret: &Secret, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(secret.reveal())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Secret, D::Error> {
        String::deserialize(from).map(Secret::new)
    }
}

impl Entry {
    /// Names it everywhere: of the key, or of what tells it, or of the account.
    pub fn fingerprint(&self) -> String {
        match &self.held {
            Held::Key { secret } => secret.fingerprint(),
            Held::Command { command } => Secret::new(format!("command:{command}")).fingerprint(),
            Held::Keyring { service, user } => Secret::new(format!("keyring:{service}/{user}")).fingerprint(),
            Held::Oauth(_) => Secret::new(format!("oauth:{}", self.id)).fingerprint(),
        }
    }

    /// For a person; holds no secret.
    pub fn described(&self) -> String {
        match &self.held {
            Held::Key { .. } => "a key in auth.json".to_owned(),
            Held::Command { command } => format!("the command `{command}`"),
            Held::Keyring { service, user } => format!("the keyring entry `{service}/{user}`"),
            Held::Oauth(Tokens { quarantined: Some(reason), .. }) => {
                format!("an account, unusable: {reason}")
            }
            Held::Oauth(_) => "an account".to_owned(),
        }
    }

    /// The texts that must appear nowhere.
    pub fn secrets(&self) -> Vec<Secret> {
        match &self.held {
            Held::Key { secret } => vec![secret.clone()],
            Held::Oauth(tokens) => vec![tokens.access.clone(), tokens.refresh.clone()],
            Held::Command { .. } | Held::Keyring { .. } => Vec::new(),
        }
    }
}
