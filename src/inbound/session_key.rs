//! In which conversation something is said: a key of the platform, the place and, where people do
//! not share one, the person. Unambiguous: two different places never have the same text, whatever
//! their ids hold. The profile is not in it; whoever looks up a key says of which profile.

use std::fmt;

use herm_schema::events::ChatKind;

use crate::platforms::{Chat, Inbound};

/// Stands between parts; inside one it is written `%3A`.
const BETWEEN: char = ':';
/// Before a thread, and before a person.
const THREAD: &str = "thread=";
const USER: &str = "user=";

/// Who shares a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// In a group everybody has a conversation of their own.
    pub group_per_user: bool,
    /// In a thread as well.
    pub thread_per_user: bool,
}

impl Default for Sharing {
    /// The open group is each one's own; who goes into a thread goes there to talk together.
    fn default() -> Self {
        Self { group_per_user: true, thread_per_user: false }
    }
}

/// The key of a conversation; as text `telegram:group:-100123:thread=5:user=42`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionKey {
    pub platform: String,
    pub kind: ChatKind,
    pub chat: String,
    pub thread: Option<String>,
    /// Whose it is; `None` where all of the place share it.
    pub user: Option<String>,
}

impl SessionKey {
    /// The conversation that something is said in.
    pub fn of(inbound: &Inbound, sharing: Sharing) -> Self {
        let Chat { place, kind, .. } = &inbound.chat;
        let own = match kind {
            ChatKind::Direct => true,
            ChatKind::Group | ChatKind::Channel if is_thread(&inbound.chat) => sharing.thread_per_user,
            ChatKind::Group | ChatKind::Channel => sharing.group_per_user,
        };
        Self {
            platform: place.platform.clone(),
            kind: *kind,
            chat: place.chat.clone(),
            thread: place.thread.clone(),
            user: own.then(|| inbound.author.id.clone()),
        }
    }

    /// Several people speak in it.
    pub fn shared(&self) -> bool {
        self.user.is_none()
    }

    /// The key that a text is; `None` for a text that [`fmt::Display`] never writes.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(BETWEEN);
        let platform = unescaped(parts.next()?)?;
        let kind = kind_of(parts.next()?)?;
        let chat = unescaped(parts.next()?)?;
        let (mut thread, mut user) = (None, None);
        for part in parts {
            match (part.strip_prefix(THREAD), part.strip_prefix(USER)) {
                (Some(id), _) if thread.is_none() && user.is_none() => thread = Some(unescaped(id)?),
                (_, Some(id)) if user.is_none() => user = Some(unescaped(id)?),
                _ => return None,
            }
        }
        let key = Self { platform, kind, chat, thread, user };
        // Only one spelling is a key: another one would be found beside it.
        (key.to_string() == text).then_some(key)
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", escaped(&self.platform), word(self.kind), escaped(&self.chat))?;
        if let Some(thread) = &self.thread {
            write!(f, ":{THREAD}{}", escaped(thread))?;
        }
        if let Some(user) = &self.user {
            write!(f, ":{USER}{}", escaped(user))?;
        }
        Ok(())
    }
}

/// Whether a chat hangs on another, as a part of it or as a chat of its own.
pub fn is_thread(chat: &Chat) -> bool {
    chat.place.thread.is_some() || chat.parent.is_some()
}

pub(super) fn word(kind: ChatKind) -> &'static str {
    match kind {
        ChatKind::Direct => "direct",
        ChatKind::Group => "group",
        ChatKind::Channel => "channel",
    }
}

fn kind_of(text: &str) -> Option<ChatKind> {
    [ChatKind::Direct, ChatKind::Group, ChatKind::Channel].into_iter().find(|kind| word(*kind) == text)
}

/// What would end a part or a line is written as its number, and so is the sign that says so.
fn escaped(part: &str) -> String {
    let mut out = String::with_capacity(part.len());
    for c in part.chars() {
        match c {
            BETWEEN | '%' | '\0'..=' ' | '\u{7f}' => out.push_str(&format!("%{:02X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

fn unescaped(part: &str) -> Option<String> {
    let mut out = String::with_capacity(part.len());
    let mut rest = part;
    while let Some((before, after)) = rest.split_once('%') {
        let (digits, after) = after.split_at_checked(2)?;
        out.push_str(before);
        out.push(char::from(u8::from_str_radix(digits, 16).ok().filter(u8::is_ascii)?));
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::inbound::testing::said;

    fn key(chat: &str, thread: Option<&str>, user: &str, kind: ChatKind, sharing: Sharing) -> SessionKey {
        let mut inbound = said(kind, chat, user);
        inbound.chat.place.thread = thread.map(Into::into);
        SessionKey::of(&inbound, sharing)
    }

    #[test]
    fn route_delim_o_ids_with_the_separator_in_them_do_not_merge_two_talks() {
        let one = key("a:b", Some("c"), "u", ChatKind::Group, Sharing::default());
        let two = key("a", Some("b:c"), "u", ChatKind::Group, Sharing::default());
        assert_ne!(one.to_string(), two.to_string());
        // Nor does an id that looks like the next part.
        let three = key("a:thread=b", None, "u", ChatKind::Group, Sharing::default());
        let four = key("a", Some("b"), "u", ChatKind::Group, Sharing::default());
        assert_ne!(three.to_string(), four.to_string());
        let five = key("a%3Ab", Some("c"), "u", ChatKind::Group, Sharing::default());
        assert_ne!(one.to_string(), five.to_string());
    }

    #[test]
    fn route_thread_o_the_open_group_is_per_user_and_a_thread_is_shared() {
        let group = |thread, user| key("G", thread, user, ChatKind::Group, Sharing::default());
        let keys = [group(None, "a"), group(None, "b"), group(Some("5"), "a"), group(Some("5"), "b")];
        let texts: Vec<String> = keys.iter().map(ToString::to_string).collect();
        assert_eq!(texts.iter().collect::<BTreeSet<_>>().len(), 3);
        assert_eq!(texts[2], texts[3]);
        assert_eq!(keys.map(|key| key.shared()), [false, false, true, true]);
    }

    #[test]
    fn a_thread_that_is_a_chat_of_its_own_is_shared_too() {
        let mut inbound = said(ChatKind::Channel, "T1", "a");
        inbound.chat.parent = Some("F".into());
        let key = SessionKey::of(&inbound, Sharing::default());
        assert!(key.shared());
        assert_eq!(key.to_string(), "telegram:channel:T1");
    }

    #[test]
    fn both_sharings_can_be_turned_around() {
        let turned = Sharing { group_per_user: false, thread_per_user: true };
        assert!(key("G", None, "a", ChatKind::Group, turned).shared());
        assert!(!key("G", Some("5"), "a", ChatKind::Group, turned).shared());
        assert!(!key("1", None, "a", ChatKind::Direct, turned).shared());
    }

    #[test]
    fn a_direct_talk_is_its_person_s_and_its_thread_s() {
        let direct = |thread, user| key("42", thread, user, ChatKind::Direct, Sharing::default()).to_string();
        assert_eq!(direct(None, "42"), "telegram:direct:42:user=42");
        assert_ne!(direct(None, "42"), direct(None, "43"));
        assert_ne!(direct(None, "42"), direct(Some("7"), "42"));
    }

    #[test]
    fn only_what_is_written_is_read() {
        for text in ["", "a", "a:group", "a:herd:c", "a:group:c:x=1", "a:group:c:user=1:thread=2"] {
            assert_eq!(SessionKey::parse(text), None, "{text}");
        }
        for text in ["a:group:%3a", "a:group:%41", "a:group:%", "a:group:%F", "a:group:%é1", "a:group: "] {
            assert_eq!(SessionKey::parse(text), None, "{text}");
        }
        assert!(SessionKey::parse("a:group:%3A:thread=:user=").is_some());
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_is_read_back_and_differs_where_the_parts_do(
            parts in proptest::array::uniform2((
                "[a:%= \\PC]{0,6}", 0..3usize, "[a:%=/]{0,6}", proptest::option::of("[a:%=]{0,4}"),
                proptest::option::of("[a:%=]{0,4}"),
            ))
        ) {
            let keys = parts.map(|(platform, kind, chat, thread, user)| {
                let kind = [ChatKind::Direct, ChatKind::Group, ChatKind::Channel][kind];
                SessionKey { platform, kind, chat, thread, user }
            });
            for key in &keys {
                let read = SessionKey::parse(&key.to_string());
                proptest::prop_assert_eq!(read.as_ref(), Some(key));
            }
            proptest::prop_assert_eq!(keys[0] == keys[1], keys[0].to_string() == keys[1].to_string());
        }
    }
}
