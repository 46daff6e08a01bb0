use super::*;
use crate::config::Secret;

const ANSWER: &str = include_str!("../fixtures/answer.eml");
const BOUNCE: &str = include_str!("../fixtures/bounce.eml");
const FIRST: &str =
    "From: Ada <ada@ada.net>\nTo: herm@example.org\nSubject: Plans\nMessage-ID: <1@ada.net>\n";

fn ids() -> Ids {
    Ids::new("herm@example.org", &Secret::new("p"))
}

fn read_by(raw: &str, servers: Option<&[String]>, media_bytes_max: u64) -> Mail {
    let ids = ids();
    let reader = Reader { address: "herm@example.org", ids: &ids, servers, media_bytes_max, cut: None };
    read(raw.as_bytes(), "7.9", Some(Micros(1)), &reader)
}

fn came(raw: &str) -> (Inbound, Standing) {
    match read_by(raw, None, 1000) {
        Mail::Came { inbound, standing } => (*inbound, standing),
        other => panic!("{other:?}"),
    }
}

fn message(raw: &str) -> Message {
    match came(raw).0.what {
        What::Message(message) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_answer_stands_in_its_thread_without_the_history() {
    let (inbound, standing) = came(ANSWER);
    let place = inbound.chat.place;
    assert_eq!((place.chat.as_str(), place.thread.as_deref()), ("ada@ada.net", Some("1@ada.net")));
    assert_eq!(
        (inbound.author.id.as_str(), inbound.author.name.as_deref()),
        ("ada@ada.net", Some("Ada Löw"))
    );
    assert!(!inbound.author.bot && !inbound.author.ours);
    let message = message(ANSWER);
    assert_eq!((message.message_id.as_str(), message.text.as_str()), ("3@ada.net", "Schön, danke."));
    assert_eq!(message.reply.map(|reply| reply.message_id).as_deref(), Some("2@example.org"));
    let [file] = message.media.as_slice() else { panic!() };
    assert_eq!((file.name.as_str(), file.media_type.as_str()), ("liste.csv", "text/csv"));
    assert_eq!(file.content, Content::Bytes(b"a,b\n1,2\n".to_vec()));
    assert_eq!((standing.subject.as_str(), standing.last.as_str()), ("Re: Pläne", "3@ada.net"));
}

#[test]
fn a_file_over_the_limit_is_left() {
    let Mail::Came { inbound, .. } = read_by(ANSWER, None, 3) else { panic!() };
    let What::Message(message) = inbound.what else { panic!() };
    assert!(matches!(message.media[0].content, Content::Left(_)));
}

#[test]
fn a_first_mail_begins_a_thread_and_says_its_subject() {
    let raw = format!("{FIRST}\nshall we");
    assert_eq!(message(&raw).text, "Subject: Plans\n\nshall we");
    assert_eq!(came(&raw).0.chat.place.thread.as_deref(), Some("1@ada.net"));
    assert_eq!(came(&raw).0.id, "ada@ada.net 1@ada.net");
    let without = raw.replace("Message-ID: <1@ada.net>\n", "");
    assert_eq!(message(&without).message_id, "7.9");
}

#[test]
fn a_sender_for_whom_nobody_vouches_is_no_sender() {
    let servers = ["mx.example.org".to_owned()];
    assert!(matches!(read_by(ANSWER, Some(&servers), 9), Mail::Came { .. }));
    let other = ["mx.other.org".to_owned()];
    let unproven = Mail::Unproven { from: "ada@ada.net".to_owned() };
    assert_eq!(read_by(ANSWER, Some(&other), 9), unproven);
    assert_eq!(read_by(&format!("{FIRST}\nx"), Some(&servers), 9), unproven);
    assert_eq!(read_by("Subject: no sender\n\nx", None, 9), Mail::Nothing);
}

#[test]
fn what_programs_write_is_known() {
    for header in
        ["Auto-Submitted: auto-replied", "Precedence: bulk", "List-Id: <all.example.org>", "Return-Path: <>"]
    {
        assert!(came(&format!("{header}\n{FIRST}\nx")).0.author.bot, "{header}");
    }
    assert!(!came(&format!("Auto-Submitted: no\n{FIRST}\nx")).0.author.bot);
    assert!(came("From: MAILER-DAEMON@x.org\n\nx").0.author.bot);
    let own = came("From: HERM@example.org\nTo: ada@ada.net\nMessage-ID: <a@b>\n\nx").0;
    assert!(own.author.ours);
    assert_eq!(own.chat.place.chat, "ada@ada.net");
}

#[test]
fn an_own_mail_that_comes_back_removes_the_address() {
    let bounce = BOUNCE.replace("OWN-ID", &ids().of("d.1"));
    let inbound = came(&bounce).0;
    let place = inbound.chat.place;
    assert_eq!(
        (place.chat.as_str(), place.thread.as_deref()),
        ("ada@gone.example", Some("root@gone.example"))
    );
    assert!(matches!(inbound.what, What::Removed { .. }));
    // Somebody else's mail, or one that is still being tried.
    for other in [BOUNCE.replace("OWN-ID", "herm.d.1.0000@example.org"), bounce.replace("failed", "delayed")]
    {
        assert!(matches!(came(&other).0.what, What::Message(_)));
        assert!(came(&other).0.author.bot);
    }
}
