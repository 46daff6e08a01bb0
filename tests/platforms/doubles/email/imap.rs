//! IMAP4rev1, as much of it as a reader of one mailbox uses.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::state::Stored;
use super::{ADDRESS, PASSWORD, Shared};

pub async fn serve(shared: &Shared, stream: TcpStream) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    writer.write_all(b"* OK [CAPABILITY IMAP4rev1 IDLE] ready\r\n").await?;
    // How many mails the other side knows of.
    let mut known = 0;
    while let Some(line) = lines.next_line().await? {
        let Some((tag, command)) = line.split_once(' ') else { continue };
        let upper = command.to_ascii_uppercase();
        if upper == "IDLE" {
            writer.write_all(b"+ idling\r\n").await?;
            loop {
                // Made before the look, so that nothing that happens between is missed.
                let mut changed = std::pin::pin!(shared.changed.notified());
                changed.as_mut().enable();
                let count = shared.state().inbox.len();
                if count != known {
                    known = count;
                    writer.write_all(format!("* {count} EXISTS\r\n").as_bytes()).await?;
                }
                tokio::select! {
                    line = lines.next_line() => match line? {
                        Some(line) if line.eq_ignore_ascii_case("DONE") => break,
                        Some(_) => {}
                        None => return Ok(()),
                    },
                    () = changed => {}
                }
            }
            writer.write_all(format!("{tag} OK done\r\n").as_bytes()).await?;
            continue;
        }
        let (mut answer, end) = answer(shared, command, &upper, &mut known);
        answer.extend_from_slice(format!("{tag} {end}\r\n").as_bytes());
        writer.write_all(&answer).await?;
        if upper == "LOGOUT" {
            break;
        }
    }
    Ok(())
}

/// What is answered to a command, and the words of its end.
fn answer(shared: &Shared, command: &str, upper: &str, known: &mut usize) -> (Vec<u8>, String) {
    let mut state = shared.state();
    let ok = |text: String| (text.into_bytes(), "OK done".to_owned());
    if upper.starts_with("LOGIN ") {
        let is_right = command.ends_with(&format!("\"{ADDRESS}\" \"{PASSWORD}\"")) && !state.unauthorised;
        let no = format!("NO [AUTHENTICATIONFAILED] Invalid credentials, not {PASSWORD}");
        return (Vec::new(), if is_right { "OK done".to_owned() } else { no });
    }
    if state.unauthorised {
        return (Vec::new(), "NO not now".to_owned());
    }
    match upper.split(' ').collect::<Vec<_>>().as_slice() {
        ["CAPABILITY"] => ok("* CAPABILITY IMAP4rev1 IDLE\r\n".to_owned()),
        ["SELECT", ..] => {
            *known = state.inbox.len();
            ok(format!(
                "* FLAGS (\\Seen)\r\n* {known} EXISTS\r\n* 0 RECENT\r\n* OK [UIDVALIDITY {}] valid\r\n\
                 * OK [UIDNEXT {}] next\r\n",
                state.validity, state.next
            ))
        }
        ["NOOP"] | ["LOGOUT"] => {
            *known = state.inbox.len();
            ok(format!("* {known} EXISTS\r\n"))
        }
        ["UID", "SEARCH", ..] => {
            let id = command.split('"').nth(1).unwrap_or_default();
            let has = |mail: &&Stored| String::from_utf8_lossy(&mail.raw).contains(&format!("<{id}>"));
            let found: Vec<String> =
                state.inbox.iter().filter(has).map(|mail| mail.uid.to_string()).collect();
            ok(format!("* SEARCH {}\r\n", found.join(" ")))
        }
        ["UID", "FETCH", set, ..] => (fetched(&state.inbox, set, upper), "OK done".to_owned()),
        ["UID", "STORE", uid, ..] => {
            if let Some(mail) = state.inbox.iter_mut().find(|mail| mail.uid.to_string() == *uid) {
                mail.seen = true;
            }
            ok(String::new())
        }
        _ => (Vec::new(), "BAD no such command".to_owned()),
    }
}

fn fetched(inbox: &[Stored], set: &str, what: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let from: Option<u32> = set.strip_suffix(":*").map(|from| from.parse().unwrap());
    for (index, mail) in inbox.iter().enumerate() {
        let is_last = index + 1 == inbox.len();
        let is_wanted = match from {
            Some(from) => mail.uid >= from || is_last,
            None => mail.uid.to_string() == set,
        };
        if !is_wanted {
            continue;
        }
        let head = format!("* {} FETCH (UID {}", index + 1, mail.uid);
        out.extend_from_slice(head.as_bytes());
        if what.contains("BODY.PEEK[]") {
            let is_part = what.contains("BODY.PEEK[]<");
            let part = if is_part { "<0>" } else { "" };
            out.extend_from_slice(format!(" BODY[]{part} {{{}}}\r\n", mail.raw.len()).as_bytes());
            out.extend_from_slice(&mail.raw);
        } else {
            let flags = if mail.seen { "\\Seen" } else { "" };
            let at = jiff::Timestamp::from_second(i64::try_from(mail.arrived).unwrap()).unwrap();
            let at = at.strftime("%d-%b-%Y %H:%M:%S +0000");
            let more = format!(" FLAGS ({flags}) INTERNALDATE \"{at}\" RFC822.SIZE {}", mail.raw.len());
            out.extend_from_slice(more.as_bytes());
        }
        out.extend_from_slice(b")\r\n");
    }
    out
}
