//! What the double knows: the inbox, what herm sent, what goes wrong next.

use std::time::{SystemTime, UNIX_EPOCH};

use herm::platforms::contract::{Fault, Happening, Record, Said, Seen, Who};
use herm_schema::events::ChatRef;
use mail_parser::{MessageParser, MimeHeaders};

use super::ADDRESS;

pub fn address_of(who: Who) -> String {
    match who {
        Who::Person(number) => format!("person{number}@people.example"),
        Who::Bot => "robot@programs.example".to_owned(),
        Who::Herm => ADDRESS.to_owned(),
    }
}

pub struct Stored {
    pub uid: u32,
    pub message_id: String,
    pub raw: Vec<u8>,
    pub seen: bool,
    /// Seconds since the epoch.
    pub arrived: u64,
}

pub struct State {
    pub inbox: Vec<Stored>,
    pub validity: u32,
    pub next: u32,
    /// Mails that herm sent.
    pub mails: Vec<Vec<u8>>,
    pub record: Record,
    pub fault: Option<Fault>,
    pub refusal: Option<String>,
    pub unauthorised: bool,
}

impl Default for State {
    fn default() -> Self {
        Self {
            inbox: Vec::new(),
            validity: 1_700_000_000,
            next: 1,
            mails: Vec::new(),
            record: Record::default(),
            fault: None,
            refusal: None,
            unauthorised: false,
        }
    }
}

/// The first id in a header of a mail.
fn first_id(raw: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(raw).replace("\r\n ", " ").replace("\r\n\t", " ");
    let head = text.split("\r\n\r\n").next()?;
    let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")))?;
    Some(line.split_once('<')?.1.split_once('>')?.0.to_owned())
}

impl State {
    pub fn deliver(&mut self, raw: Vec<u8>) -> u32 {
        let uid = self.next;
        self.next += 1;
        let message_id = first_id(&raw, "message-id").unwrap_or_default();
        let arrived = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        self.inbox.push(Stored { uid, message_id, raw, seen: false, arrived });
        uid
    }

    pub fn happen(&mut self, happening: &Happening) -> Option<String> {
        match happening {
            Happening::Said(said) => Some(self.said(said)),
            Happening::Redelivered { message_id } => {
                let mail = self.inbox.iter().find(|mail| mail.message_id == *message_id)?.raw.clone();
                self.deliver(mail);
                Some(message_id.clone())
            }
            _ => None,
        }
    }

    fn said(&mut self, said: &Said) -> String {
        let from = address_of(said.who);
        let domain = from.rsplit('@').next().unwrap();
        let id = format!("mail{}@{domain}", self.next);
        let root = said.chat.thread.as_deref().unwrap();
        let mut raw = format!(
            "Authentication-Results: double.example; dkim=pass header.d={domain}; spf=none\r\n\
             Received: from mail.{domain} by double.example; Mon, 1 Dec 2025 10:00:00 +0000\r\n\
             From: Somebody <{from}>\r\nTo: {ADDRESS}\r\nSubject: Re: Plans\r\nMessage-ID: <{id}>\r\n\
             References: <{root}>\r\nMIME-Version: 1.0\r\n"
        );
        if said.who == Who::Bot {
            raw += "Auto-Submitted: auto-generated\r\n";
        }
        if let Some(to) = &said.reply_to {
            raw.push_str(&format!("In-Reply-To: <{to}>\r\n"));
        }
        let history = "\r\n\r\nOn Mon, 1 Dec 2025, somebody wrote:\r\n> what was said before\r\n";
        let text = "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n";
        match &said.file {
            None => raw.push_str(&format!("{text}{}{history}", said.text)),
            Some((name, media_type, bytes)) => {
                let lines: Vec<String> = bytes.iter().map(|byte| format!("={byte:02X}")).collect();
                let lines: Vec<String> = lines.chunks(20).map(<[String]>::concat).collect();
                raw.push_str(&format!(
                    "Content-Type: multipart/mixed; boundary=edge\r\n\r\n--edge\r\n{text}{}{history}\r\n--edge\r\n\
                     Content-Type: {media_type}\r\nContent-Disposition: attachment; filename=\"{name}\"\r\n\
                     Content-Transfer-Encoding: quoted-printable\r\n\r\n{}\r\n--edge--\r\n",
                    said.text,
                    lines.join("=\r\n"),
                ));
            }
        }
        self.deliver(raw.into_bytes());
        id
    }

    /// herm sent a mail.
    pub fn sent(&mut self, raw: Vec<u8>) {
        let mail = MessageParser::default().parse(&raw[..]).unwrap();
        let to = mail.to().and_then(|to| to.first()).and_then(|to| to.address.as_ref()).unwrap().to_string();
        let message_id = mail.message_id().unwrap().to_owned();
        let thread = first_id(&raw, "references").unwrap_or_else(|| message_id.clone());
        let file = mail.attachments().next();
        let file = file
            .map(|part| (part.attachment_name().unwrap_or_default().to_owned(), part.contents().to_vec()));
        let text = mail.body_text(0).unwrap_or_default().replace("\r\n", "\n");
        let seen = Seen {
            chat: ChatRef { platform: "email".to_owned(), chat: to, thread: Some(thread) },
            message_id,
            text: text.trim_end_matches('\n').to_owned(),
            reply_to: first_id(&raw, "in-reply-to"),
            file,
            buttons: Vec::new(),
            edits: 0,
            deleted: false,
        };
        self.record.sent.push(seen);
        self.mails.push(raw);
    }
}
