//! WhatsApp names one account in several ways: by its telephone number (`15550001111@s.whatsapp.net`),
//! by a number that hides it (`999000111222333@lid`), and by either with the device that wrote
//! (`15550001111:47@s.whatsapp.net`). Here they are made one, so that a person has one conversation
//! and is allowed once. Source: the JIDs of the multi-device protocol, as whatsmeow's `types.JID` and
//! Baileys' `jidNormalizedUser` read them: `USER[_AGENT][:DEVICE]@SERVER`.

use std::collections::BTreeMap;

use herm_schema::events::ChatKind;

use crate::platforms::Inbound;

/// Accounts named by their number.
const PHONE_SERVERS: [&str; 2] = ["s.whatsapp.net", "c.us"];
/// Accounts named by what hides it.
const HIDDEN_SERVER: &str = "lid";

/// Telephone numbers by the numbers that hide them, both without server and device.
pub type Mapping = BTreeMap<String, String>;

/// The one id of an account: its telephone number, digits alone. A hidden number that `mapping` does
/// not know keeps its server, so that it is never taken for a telephone number; so does what is no
/// account, such as a group.
pub fn canonical(id: &str, mapping: &Mapping) -> String {
    let id = id.trim();
    let (account, server) = id.split_once('@').unwrap_or((id, ""));
    let bare = bare(account);
    if server == HIDDEN_SERVER {
        return mapping.get(bare).cloned().unwrap_or_else(|| format!("{bare}@{HIDDEN_SERVER}"));
    }
    if PHONE_SERVERS.contains(&server) {
        return bare.to_owned();
    }
    server.is_empty().then(|| phone(account)).flatten().unwrap_or_else(|| id.to_owned())
}

/// The other ids of the same account, which an allow-list may name.
pub fn aliases(id: &str, mapping: &Mapping) -> Vec<String> {
    let one = canonical(id, mapping);
    let hidden = mapping.iter().filter(|(_, number)| **number == one).map(|(hidden, _)| hidden);
    // Never without its server: bare digits on an allow-list are a telephone number.
    let mut found: Vec<String> = hidden.map(|hidden| format!("{hidden}@{HIDDEN_SERVER}")).collect();
    if phone(&one).is_some() {
        found.push(format!("{one}@s.whatsapp.net"));
        found.push(format!("+{one}"));
    }
    let given = id.trim();
    if given != one && !found.iter().any(|known| known == given) {
        found.push(given.to_owned());
    }
    found
}

/// Names whoever wrote, and their direct chat, by the one id.
#[must_use]
pub fn made_one(mut inbound: Inbound, mapping: &Mapping) -> Inbound {
    let author = &mut inbound.author;
    let more = aliases(&author.id, mapping);
    author.aliases.extend(more);
    author.id = canonical(&author.id, mapping);
    if inbound.chat.kind == ChatKind::Direct {
        inbound.chat.place.chat = canonical(&inbound.chat.place.chat, mapping);
    }
    inbound
}

/// Without agent and device.
fn bare(account: &str) -> &str {
    account.split([':', '_']).next().unwrap_or(account)
}

/// A telephone number as people write it, with `+`, spaces and dashes, or with its device.
fn phone(text: &str) -> Option<String> {
    let digits: String = bare(text).chars().filter(|c| !" +-().".contains(*c)).collect();
    (!digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inbound::session_key::{SessionKey, Sharing};
    use crate::inbound::testing::{place, said};

    fn mapping() -> Mapping {
        Mapping::from([("999000111222333".to_owned(), "15550001111".to_owned())])
    }

    const FORMS: [&str; 3] =
        ["15550001111@s.whatsapp.net", "15550001111:47@s.whatsapp.net", "999000111222333@lid"];

    #[test]
    fn route_wa_o_the_forms_of_one_account_have_one_conversation() {
        let keys = FORMS.map(|form| {
            let mut inbound = said(ChatKind::Direct, form, form);
            inbound.chat.place = place("whatsapp", form, None);
            SessionKey::of(&made_one(inbound, &mapping()), Sharing::default()).to_string()
        });
        assert_eq!(keys, ["whatsapp:direct:15550001111:user=15550001111"; 3]);
    }

    #[test]
    fn a_hidden_number_that_is_not_known_is_never_a_telephone_number() {
        assert_eq!(canonical("15550001111@lid", &Mapping::new()), "15550001111@lid");
        assert_eq!(canonical("777:3@lid", &mapping()), "777@lid");
        assert_ne!(canonical("15550001111@lid", &mapping()), canonical(FORMS[0], &mapping()));
    }

    #[test]
    fn groups_and_names_stay_as_they_are() {
        for id in ["120363025246125486@g.us", "status@broadcast", "", "someone"] {
            assert_eq!(canonical(id, &mapping()), id);
        }
        let mut inbound = said(ChatKind::Group, "120363025246125486@g.us", FORMS[1]);
        inbound = made_one(inbound, &mapping());
        assert_eq!(inbound.chat.place.chat, "120363025246125486@g.us");
        assert_eq!(inbound.author.id, "15550001111");
    }

    #[test]
    fn an_allow_list_may_name_any_of_the_forms() {
        let inbound = made_one(said(ChatKind::Direct, FORMS[2], FORMS[2]), &mapping());
        for form in [FORMS[0], FORMS[2], "+15550001111"] {
            assert!(inbound.author.aliases.iter().any(|alias| alias == form), "{form}");
        }
        assert!(!inbound.author.aliases.iter().any(|alias| alias == "999000111222333"));
        assert_eq!(canonical("+1 555 000-1111", &mapping()), "15550001111");
        assert_eq!(canonical("15550001111_1:2@s.whatsapp.net", &mapping()), "15550001111");
        assert_eq!(canonical("15550001111@c.us", &mapping()), "15550001111");
    }
}
