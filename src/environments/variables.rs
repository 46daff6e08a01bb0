//! What a command inherits of herm's environment variables: everything but secrets.

use std::ffi::OsString;

/// Endings and whole names of variables that hold secrets by custom.
const SECRET_NAMES: &[&str] = &[
    "KEY",
    "APIKEY",
    "TOKEN",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "PAT",
];

/// Which variables a command does not see.
#[derive(Clone, Debug, Default)]
pub struct VariablePolicy {
    /// Removed always: what herm itself was given keys in.
    pub remove: Vec<String>,
    /// Kept although the name looks like that of a secret.
    pub passthrough: Vec<String>,
}

impl VariablePolicy {
    /// Whether a command may see the variable of this name.
    pub fn admits(&self, name: &str) -> bool {
        if self.remove.iter().any(|removed| removed == name) {
            return false;
        }
        !looks_secret(name) || self.passthrough.iter().any(|kept| kept == name)
    }

    /// What is left of `variables`.
    pub(super) fn filter(
        &self,
        variables: impl Iterator<Item = (OsString, OsString)>,
    ) -> Vec<(OsString, OsString)> {
        variables.filter(|(name, _)| self.admits(&name.to_string_lossy())).collect()
    }
}

/// `OPENAI_API_KEY`, `GH_TOKEN`, `AWS_SECRET_ACCESS_KEY`, `password`; not `KEYBOARD` or `TOKENIZERS_PATH`.
fn looks_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let last = upper.rsplit('_').next().unwrap_or_default();
    SECRET_NAMES.contains(&last) || upper.contains("_SECRET_") || upper.contains("ACCESS_KEY")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_told_from_names_that_only_resemble_them() {
        let policy = VariablePolicy::default();
        for name in [
            "OPENAI_API_KEY",
            "GH_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_ACCESS_KEY_ID",
            "password",
            "CLIENT_SECRET",
            "MY_SECRET_VALUE",
            "TOKEN",
            "DB_PASSWD",
            "GITHUB_PAT",
        ] {
            assert!(!policy.admits(name), "{name}");
        }
        for name in ["PATH", "HOME", "KEYBOARD", "TOKENIZERS_PATH", "SSH_AUTH_SOCK", "LANG", "PASSAGE"] {
            assert!(policy.admits(name), "{name}");
        }
    }

    #[test]
    fn removal_wins_over_passthrough() {
        let policy = VariablePolicy {
            remove: vec!["A_TOKEN".into(), "PLAIN".into()],
            passthrough: vec!["A_TOKEN".into(), "B_TOKEN".into()],
        };
        assert!(!policy.admits("A_TOKEN"));
        assert!(!policy.admits("PLAIN"));
        assert!(policy.admits("B_TOKEN"));
    }
}
