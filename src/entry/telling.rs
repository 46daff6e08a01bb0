//! Tells a session what became of its background processes.

use std::sync::Arc;

use herm_replay::reducer::Command;
use herm_replay::reducer::command::Fact;
use herm_schema::events::{NoticeReceived, NoticeSource, ProcessEnded};

use tokio::task::JoinHandle;

use crate::config::Redactor;
use crate::environments::{Window, excerpt};
use crate::runtime::SessionHandle;
use crate::tools::process::{News, Processes, What};

/// How much of the output goes with the news, in bytes and lines: the rest can be read.
const SHOWN: Window = Window { bytes_max: 2_000, lines_max: 40 };

/// Tells until it is dropped.
pub struct Telling(JoinHandle<()>);

impl Telling {
    pub fn begin(processes: &Arc<Processes>, handle: &SessionHandle, redactor: &Redactor) -> Self {
        Self(tokio::spawn(tell(Arc::clone(processes), handle.clone(), redactor.clone())))
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn tell(processes: Arc<Processes>, handle: SessionHandle, redactor: Redactor) {
    let mut news = processes.listen(handle.id()).await;
    while let Some(news) = news.recv().await {
        for command in commands(news, &redactor) {
            // Refused where it is known already, or where the session has ended.
            drop(handle.send(command, None).await);
        }
    }
}

fn commands(news: News, redactor: &Redactor) -> Vec<Command> {
    let News { process, command, what } = news;
    let notice = |source, text: String| {
        let text = redactor.redact(&text).into_owned();
        Command::Notice(NoticeReceived { source, about: process.clone(), text })
    };
    match what {
        What::Printed { lines } => vec![notice(NoticeSource::ProcessPrinted, lines.join("\n"))],
        What::Ended { exit_code, notify, output } => {
            let ended = ProcessEnded { process: process.clone(), exit_code };
            let mut commands = vec![Command::Record(Fact::ProcessEnded(ended))];
            if notify {
                let how = exit_code
                    .map_or_else(|| "nobody knows how".to_owned(), |code| format!("exit code {code}"));
                let shown = excerpt(&output, SHOWN).map(|shown| shown.text).unwrap_or_default();
                commands.push(notice(NoticeSource::ProcessEnded, format!("{command}\n{how}\n{shown}")));
            }
            commands
        }
    }
}
