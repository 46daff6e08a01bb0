//! The command line of `herm chat`, and what it comes to together with the configuration.

use std::io::{self, Read};
use std::path::PathBuf;

use clap::Args;
use herm_schema::SessionId;

use super::files::{self, File};
use crate::config::{Key, Loaded, Override, keys};
use crate::entry::{Exit, Failure, Start};

/// Bytes of a question on stdin at most.
const QUESTION_BYTES_MAX: u64 = 4 << 20;

/// Talk to the agent, or ask it one thing.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "\
Examples:
  herm chat
  herm chat -q \"which of these files is the largest?\"
  git diff | herm chat -q -
  herm chat --continue --model gpt-5-mini
  herm chat -i screenshot.png -q \"what is wrong here?\"
  herm chat --resume
  herm chat --base-url http://127.0.0.1:8080/v1 --model tiny
  herm chat --provider offline -q \"run: uname -a\" --json

Exit status with -q: 0 answered, 1 failed, 3 a limit was reached, 4 the model failed, 5 refused,
6 the home is in use, 7 the log is damaged, 78 the configuration is wrong, 130 interrupted.")]
pub struct Chat {
    /// Ask this, print the answer on stdout and everything else on stderr. `-` reads stdin.
    #[arg(short, long = "query", value_name = "TEXT")]
    pub question: Option<String>,

    /// Go on with this session; without an id, with the newest.
    #[arg(short, long, value_name = "ID", num_args = 0..=1)]
    pub resume: Option<Option<String>>,

    /// Go on with the newest session.
    #[arg(short, long = "continue", conflicts_with = "resume")]
    pub go_on: bool,

    /// Show the model this image; may be given several times. With -q, or for the first message.
    #[arg(short, long, value_name = "FILE")]
    pub image: Vec<PathBuf>,

    /// Model to call (setting `model.default`).
    #[arg(short, long, value_name = "NAME")]
    pub model: Option<String>,

    /// Who is asked (setting `model.provider`).
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,

    /// Address of an OpenAI-compatible endpoint (setting `model.base_url`).
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,

    /// Wire format to speak, whatever provider and address say (setting `model.api_mode`).
    #[arg(long, value_name = "FORMAT")]
    pub api_mode: Option<String>,

    /// Run command lines without asking; what is forbidden stays forbidden.
    #[arg(long)]
    pub yolo: bool,

    /// Print everything that happens, one JSON object a line.
    #[arg(long)]
    pub json: bool,

    /// Model calls in one turn at most (setting `agent.max_turns`).
    #[arg(long, value_name = "COUNT")]
    pub max_turns: Option<String>,

    /// Directory to work in (setting `terminal.cwd`).
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}

/// Which session the conversation goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// A new one.
    No,
    /// The newest, or a new one if there is none.
    Newest,
    This(SessionId),
}

/// Everything that a conversation starts from.
#[derive(Debug)]
pub struct Prepared {
    pub loaded: Loaded,
    pub resume: Resume,
    /// One question from a script; `None` is a conversation.
    pub question: Option<String>,
    /// What goes with the first message.
    pub files: Vec<File>,
    pub json: bool,
    /// Absolute, and a directory.
    pub cwd: PathBuf,
}

impl Chat {
    /// Reads the configuration under the options, the question, and the directory.
    ///
    /// # Errors
    /// When one of them is wrong, or the question is empty.
    pub fn prepare(&self, start: &Start) -> Result<Prepared, Failure> {
        let resume = self.resume()?;
        let overrides = self.overrides()?;
        let loaded = start.load(&overrides)?;
        let cwd = self.directory(&loaded)?;
        let question = self.question(&mut io::stdin())?;
        let files = self.image.iter().map(|path| files::read(path)).collect::<Result<_, _>>()?;
        Ok(Prepared { resume, question, files, json: self.json, cwd, loaded })
    }

    /// # Errors
    /// For an id that is none.
    pub fn resume(&self) -> Result<Resume, Failure> {
        match &self.resume {
            None if self.go_on => Ok(Resume::Newest),
            None => Ok(Resume::No),
            Some(None) => Ok(Resume::Newest),
            Some(Some(text)) => text
                .parse()
                .map(Resume::This)
                .map_err(|error| Failure::new(Exit::Usage, error).hint("herm sessions list")),
        }
    }

    /// The settings that the command line gives.
    ///
    /// # Errors
    /// For a value that the setting does not take.
    pub fn overrides(&self) -> Result<Vec<Override>, Failure> {
        let yolo = self.yolo.then(|| "off".to_owned());
        let given: [(&'static Key, &'static str, Option<&String>); 6] = [
            (&keys::MODEL, "--model", self.model.as_ref()),
            (&keys::PROVIDER, "--provider", self.provider.as_ref()),
            (&keys::BASE_URL, "--base-url", self.base_url.as_ref()),
            (&keys::API_MODE, "--api-mode", self.api_mode.as_ref()),
            (&keys::MAX_TURNS, "--max-turns", self.max_turns.as_ref()),
            (&keys::APPROVALS, "--yolo", yolo.as_ref()),
        ];
        let one = |(key, option, text): (&'static Key, &'static str, Option<&String>)| {
            let text = text?;
            Some(key.kind.of_text(text).map(|value| Override { key, option, value }).ok_or_else(|| {
                let expected = key.kind.expected();
                Failure::message(
                    Exit::Usage,
                    format!("`{option}` cannot be `{text}`: {expected} is expected"),
                )
                .hint(format!("herm config explain {}", key.path))
            }))
        };
        given.into_iter().filter_map(one).collect()
    }

    /// The question of `-q`; `-` is stdin.
    ///
    /// # Errors
    /// When stdin cannot be read or is too long, and when the question is empty.
    pub fn question(&self, stdin: &mut dyn Read) -> Result<Option<String>, Failure> {
        let question = match self.question.as_deref() {
            None => return Ok(None),
            Some("-") => from_stdin(stdin)?,
            Some(text) => text.to_owned(),
        };
        if question.trim().is_empty() {
            let hint = "herm chat -q \"what is in this folder?\"";
            return Err(Failure::message(Exit::Usage, "the question is empty").hint(hint));
        }
        Ok(Some(question))
    }

    fn directory(&self, loaded: &Loaded) -> Result<PathBuf, Failure> {
        let started_in = std::env::current_dir()?;
        let wanted = match &self.cwd {
            Some(given) => started_in.join(given),
            None => loaded.config.working_directory(&started_in),
        };
        match std::fs::canonicalize(&wanted) {
            Ok(found) if found.is_dir() => Ok(found),
            Ok(_) => Err(Failure::message(Exit::Usage, format!("`{}` is not a directory", wanted.display()))),
            Err(error) => Err(Failure::new(
                Exit::Usage,
                anyhow::Error::new(error).context(format!("cannot work in `{}`", wanted.display())),
            )),
        }
    }
}

fn from_stdin(stdin: &mut dyn Read) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    stdin.take(QUESTION_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > QUESTION_BYTES_MAX {
        let message = format!("the question on stdin is longer than {QUESTION_BYTES_MAX} bytes");
        return Err(Failure::message(Exit::Usage, message));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Home, Value};

    #[test]
    fn options_become_overrides() {
        let chat =
            Chat { model: Some("tiny".into()), max_turns: Some("3".into()), yolo: true, ..Chat::default() };
        let given: Vec<_> =
            chat.overrides().unwrap().into_iter().map(|o| (o.option, o.key.path, o.value)).collect();
        let text = |text: &str| Value::Text(text.into());
        assert_eq!(
            given,
            [
                ("--model", "model.default", text("tiny")),
                ("--max-turns", "agent.max_turns", Value::Integer(3)),
                ("--yolo", "approvals.mode", text("off")),
            ]
        );
    }

    #[test]
    fn a_value_that_does_not_fit_is_a_usage_error_with_a_hint() {
        let failure = Chat { max_turns: Some("0".into()), ..Chat::default() }.overrides().unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        assert_eq!(failure.hint.as_deref(), Some("herm config explain agent.max_turns"));
    }

    #[test]
    fn the_question_may_come_from_stdin_and_must_not_be_empty() {
        let ask = |text: &str, stdin: &str| {
            Chat { question: Some(text.into()), ..Chat::default() }.question(&mut stdin.as_bytes())
        };
        assert_eq!(ask("-", "from a pipe").unwrap().as_deref(), Some("from a pipe"));
        assert_eq!(ask("hello", "").unwrap().as_deref(), Some("hello"));
        assert_eq!(ask("-", " \n").unwrap_err().exit, Exit::Usage);
        assert_eq!(Chat::default().question(&mut "x".as_bytes()).unwrap(), None);
    }

    #[test]
    fn the_session_is_named_newest_or_new() {
        assert_eq!(Chat::default().resume().unwrap(), Resume::No);
        assert_eq!(Chat { go_on: true, ..Chat::default() }.resume().unwrap(), Resume::Newest);
        assert_eq!(Chat { resume: Some(None), ..Chat::default() }.resume().unwrap(), Resume::Newest);
        let id = SessionId::opened(herm_schema::Micros(1_700_000_000_000_000), [7; 10]);
        let named = Chat { resume: Some(Some(id.to_string())), ..Chat::default() };
        assert_eq!(named.resume().unwrap(), Resume::This(id));
        let wrong = Chat { resume: Some(Some("x".into())), ..Chat::default() };
        assert_eq!(wrong.resume().unwrap_err().exit, Exit::Usage);
    }

    #[test]
    fn everything_is_prepared_from_home_and_options() {
        let scratch = tempfile::tempdir().unwrap();
        let start = Start { home: Home::at(scratch.path()) };
        let chat = Chat {
            question: Some("hi".into()),
            cwd: Some(scratch.path().to_owned()),
            yolo: true,
            ..Chat::default()
        };
        let prepared = chat.prepare(&start).unwrap();
        assert_eq!(prepared.cwd, std::fs::canonicalize(scratch.path()).unwrap());
        assert_eq!(prepared.loaded.config.approvals.mode, crate::approval::Mode::Off);
        let nowhere = Chat { cwd: Some(scratch.path().join("none")), ..chat };
        assert_eq!(nowhere.prepare(&start).unwrap_err().exit, Exit::Usage);
    }
}
