//! E-mail over its double.

use herm::platforms::contract::{self, Bench, Desk, Happening, Running, Said, Who};
use herm::platforms::table::{PLATFORMS, Section};
use herm::platforms::{Inlet, Outgoing, Say, What, Written};
use herm_schema::events::{ChatKind, ChatRef, DeliveryFailure};

use crate::doubles::email::{ADDRESS, Double, PASSWORD};

fn text(chat: &ChatRef, text: &str, plain: &str) -> Outgoing {
    Outgoing {
        target: chat.clone(),
        content: Say::Text(Written { text: text.to_owned(), plain: plain.to_owned() }),
        key: "key-1".to_owned(),
        possible_repeat: false,
        reply_to: None,
        replaces: None,
        buttons: Vec::new(),
    }
}

#[tokio::test]
async fn it_keeps_the_contract() {
    contract::check(&Double::start()).await;
}

#[tokio::test]
async fn an_answer_stands_in_the_thread_after_a_restart_as_well() {
    let double = Double::start();
    let chat = double.chat(ChatKind::Direct, 1).unwrap();
    let asked = double.happen(&Happening::Said(Said::new(&chat, "shall we"))).unwrap();
    // A new adapter: it has not read the mail, and asks the mailbox.
    double.platform().send(&text(&chat, "<strong>yes</strong>", "yes")).await.unwrap();
    let mail = double.mails().remove(0);
    for line in [
        "Subject: Re: Plans\r\n".to_owned(),
        format!("In-Reply-To: <{asked}>\r\n"),
        format!("References: <root1@people.example> <{asked}>\r\n"),
        "Auto-Submitted: auto-replied\r\n".to_owned(),
    ] {
        assert!(mail.replace("\r\n ", " ").contains(&line), "{line}: {mail}");
    }
    assert!(mail.contains("multipart/alternative") && mail.contains("<strong>yes</strong>"), "{mail}");
}

#[tokio::test]
async fn every_attempt_has_the_same_message_id() {
    let double = Double::start();
    let chat = double.chat(ChatKind::Direct, 1).unwrap();
    let first = double.platform().send(&text(&chat, "x", "x")).await.unwrap();
    assert_eq!(double.platform().send(&text(&chat, "x", "x")).await.unwrap(), first);
    assert_eq!(double.record().sent.len(), 2, "SMTP does not know repeats");
}

#[tokio::test]
async fn a_mail_that_begins_a_thread_is_its_root() {
    let double = Double::start();
    let chat = ChatRef { platform: "email".to_owned(), chat: "ada@people.example".to_owned(), thread: None };
    let id = double.platform().send(&text(&chat, "The news\nand more", "The news\nand more")).await.unwrap();
    let mail = double.mails().remove(0);
    assert!(mail.contains("Subject: The news\r\n") && !mail.contains("References"), "{mail}");
    assert_eq!(double.record().sent[0].chat.thread, id);
}

#[tokio::test]
async fn a_sender_for_whom_nobody_vouches_is_passed_over_unless_that_is_configured() {
    let forged = "From: Ada <person0@people.example>\nTo: herm@double.example\nMessage-ID: <f@x>\n\nforged";
    let double = Double::start();
    let chat = double.chat(ChatKind::Direct, 1).unwrap();
    let own = ChatRef { thread: Some("f@x".to_owned()), ..chat.clone() };
    for (more, count) in [(&[][..], 0), (&[("trust_from", "true")][..], 1)] {
        let desk = Desk::new(1000);
        let running = Running::start(double.adapter(more), &desk);
        double.deliver(forged);
        double.happen(&Happening::Said(Said::new(&chat, "proven")));
        desk.message(&chat, "proven").await;
        assert_eq!(desk.of(&own).len(), count);
        running.stop().await;
    }
}

#[tokio::test]
async fn a_mail_that_comes_back_removes_the_address() {
    let double = Double::start();
    let chat = double.chat(ChatKind::Direct, 1).unwrap();
    let id = double.platform().send(&text(&chat, "x", "x")).await.unwrap().unwrap();
    let desk = Desk::new(1000);
    let running = Running::start(double.platform(), &desk);
    let (to, root) = (&chat.chat, chat.thread.as_deref().unwrap());
    double.deliver(&format!(
        "From: MAILER-DAEMON@double.example\nMessage-ID: <b@double.example>\nMIME-Version: 1.0\n\
         Content-Type: multipart/report; report-type=delivery-status; boundary=e\n\n--e\n\
         Content-Type: message/delivery-status\n\nReporting-MTA: dns; double.example\n\n\
         Final-Recipient: rfc822; {to}\nAction: failed\nStatus: 5.1.1\n\n--e\n\
         Content-Type: text/rfc822-headers\n\nMessage-ID: <{id}>\nReferences: <{root}>\n\n--e--\n"
    ));
    let removed =
        |inbound: &herm::platforms::Inbound| matches!(inbound.what, What::Removed { .. }).then_some(());
    desk.until(&chat, "the removal", removed).await;
    running.stop().await;
}

#[tokio::test]
async fn mails_that_are_numbered_anew_are_read_from_now_on() {
    let double = Double::start();
    let chat = double.chat(ChatKind::Direct, 1).unwrap();
    double.happen(&Happening::Said(Said::new(&chat, "old")));
    let desk = Desk::new(1000);
    desk.advance("16:1".to_owned()).await.unwrap();
    let running = Running::start(double.platform(), &desk);
    contract::eventually("the new cursor", || {
        desk.cursor().filter(|cursor| cursor.ends_with(":1") && cursor != "16:1")
    })
    .await;
    double.happen(&Happening::Said(Said::new(&chat, "new")));
    desk.message(&chat, "new").await;
    assert_eq!(desk.texts(&chat), ["new"]);
    running.stop().await;
}

#[tokio::test]
async fn refusals_have_their_classes() {
    let double = Double::start();
    let chat = double.chat(ChatKind::Direct, 1).unwrap();
    for (words, class) in [
        ("451 4.7.1 greylisted", DeliveryFailure::Unreachable),
        ("421 4.7.28 too many mails", DeliveryFailure::RateLimited),
        ("550 5.1.1 <x>: user unknown", DeliveryFailure::Gone),
        ("550 5.7.1 we do not like this", DeliveryFailure::Refused),
    ] {
        double.refuse(words);
        let failure = double.platform().send(&text(&chat, "x", "x")).await.unwrap_err();
        assert_eq!(
            (failure.class, failure.retry_after.is_some()),
            (class, words.starts_with('4')),
            "{failure:?}"
        );
    }
    assert_eq!(double.record().sent, []);
    assert_eq!(double.id_of(Who::Herm), ADDRESS);
}

#[test]
fn what_is_configured_wrongly_is_said_without_the_password() {
    let row = PLATFORMS.iter().find(|row| row.name == "email").unwrap();
    let made = |more: &[(&str, &str)]| {
        let mut section = Section::default();
        let all = [
            ("address", ADDRESS),
            ("password", PASSWORD),
            ("imap_host", "imap.x.org"),
            ("smtp_host", "smtp.x.org"),
        ];
        for (name, value) in all.iter().chain(more) {
            section.set(row.field(name).unwrap(), value);
        }
        (row.make)(row, &section).map(|_| ())
    };
    assert_eq!(made(&[]), Ok(()));
    for more in
        [("address", "nobody"), ("imap_port", "x"), ("smtp_port", "70000"), ("tls", "none"), ("tls", "some")]
    {
        let wrong = made(&[more]).unwrap_err();
        assert!(!wrong.fix.is_empty() && !format!("{wrong:?} {wrong}").contains(PASSWORD), "{wrong:?}");
    }
}
