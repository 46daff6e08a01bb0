//! Reads slash commands: what is one, which one, who may ask for it; and writes their help.
//!
//! A path is no command, and neither is a slash alone: those are messages. Start at [`parse`], then
//! [`find`].

use super::pairing::is_dash;
use super::slash_table::{COMMANDS, Permission, SlashCommand, Where};

/// Longest word that can be a command, in bytes.
const NAME_MAX: usize = 32;
/// Commands on one page of `/commands`.
pub const PAGE_ROWS: usize = 12;
/// Slips of the pen that are forgiven in a suggestion, of a word of at least so many letters.
const SLIPS: [(usize, usize); 2] = [(4, 2), (2, 1)];

/// A command, as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slash {
    /// In lower case, without the slash; perhaps none that there is.
    pub name: String,
    /// Without spaces around.
    pub args: String,
}

/// The command that a text is; `None` for what is a message: no slash, a path, a slash alone, a
/// command to another bot (`/stop@somebody`). `bot_name` is herm's own name there, empty for none.
pub fn parse(text: &str, bot_name: &str) -> Option<Slash> {
    let line = text.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let word = word.strip_prefix('/')?;
    let (name, to) = match word.split_once('@') {
        Some((name, to)) => (name, Some(to)),
        None => (word, None),
    };
    if to.is_some_and(|to| !to.eq_ignore_ascii_case(bot_name.trim_start_matches('@'))) {
        return None;
    }
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let named = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(letters);
    if name != "?" && (!named || name.len() > NAME_MAX) {
        return None;
    }
    let options = COMMANDS.iter().any(|row| row.is(name) && row.has_options());
    let args = if options { plain_dashes(rest.trim()) } else { rest.trim().to_owned() };
    Some(Slash { name: name.to_ascii_lowercase(), args })
}

/// There is no such command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no `/{name}`{}", suggested(*near))]
pub struct Unknown {
    pub name: String,
    /// What was probably meant, without the slash.
    pub near: Option<&'static str>,
}

fn suggested(near: Option<&str>) -> String {
    near.map_or_else(|| "; /help says what there is".to_owned(), |near| format!("; did you mean `/{near}`?"))
}

/// The row of a command that can be typed `there`, which is the terminal or a chat.
///
/// # Errors
/// [`Unknown`], with what was probably meant.
pub fn find(name: &str, there: Where) -> Result<&'static SlashCommand, Unknown> {
    let mut here = COMMANDS.iter().filter(|row| row.place.includes(there));
    here.find(|row| row.is(name)).ok_or_else(|| Unknown { name: name.to_owned(), near: nearest(name, there) })
}

fn nearest(name: &str, there: Where) -> Option<&'static str> {
    let slips = SLIPS.into_iter().find(|(letters, _)| name.len() >= *letters).map(|(_, slips)| slips)?;
    let here = COMMANDS.iter().filter(|row| row.place.includes(there));
    let names = here
        .flat_map(|row| std::iter::once(&row.name).chain(row.aliases).map(move |known| (*known, row.name)));
    let scored = names.map(|(known, name_of)| (strsim::damerau_levenshtein(known, name), name_of));
    let (distance, near) = scored.min_by_key(|(distance, _)| *distance)?;
    (distance <= slips).then_some(near)
}

/// Whether somebody may ask for a command.
pub fn allowed(command: &SlashCommand, admin: bool) -> bool {
    admin || command.permission == Permission::Everyone
}

/// Those that somebody may type `there`, in the order of the table.
pub fn offered(there: Where, admin: bool) -> impl Iterator<Item = &'static SlashCommand> {
    COMMANDS.iter().filter(move |row| row.place.includes(there) && allowed(row, admin))
}

/// What there is, a line each: in columns for a terminal, as Markdown for a chat.
pub fn help(there: Where, admin: bool) -> String {
    lines(offered(there, admin), there).join("\n")
}

/// A page of [`help`], from 1; a page that there is not is the nearest that there is.
pub fn page(there: Where, admin: bool, page: usize) -> String {
    let all = lines(offered(there, admin), there);
    let pages = all.len().div_ceil(PAGE_ROWS).max(1);
    let page = page.clamp(1, pages);
    let shown: Vec<String> = all.into_iter().skip((page - 1) * PAGE_ROWS).take(PAGE_ROWS).collect();
    let next = if page < pages { format!("; /commands {}", page + 1) } else { String::new() };
    format!("{}\n\nPage {page} of {pages}{next}", shown.join("\n"))
}

fn lines(rows: impl Iterator<Item = &'static SlashCommand>, there: Where) -> Vec<String> {
    let usage = |row: &SlashCommand| match row.arguments {
        "" => format!("/{}", row.name),
        arguments => format!("/{} {arguments}", row.name),
    };
    match there {
        // The name's column is as wide as it was before there were arguments to show.
        Where::Terminal => rows.map(|row| format!("/{:<9} {}", row.name, about(row))).collect(),
        Where::Chat | Where::Both => rows.map(|row| format!("- `{}`: {}", usage(row), row.about)).collect(),
    }
}

fn about(row: &SlashCommand) -> String {
    match row.arguments {
        "" => row.about.to_owned(),
        arguments => format!("{}: /{} {arguments}", row.about, row.name),
    }
}

/// Telephones make one long dash of two, and a short one of one: `—provider` is `--provider`.
fn plain_dashes(args: &str) -> String {
    let word = |word: &str| {
        let name = word.trim_start_matches(is_dash);
        let dashes = word.len() > name.len() && !word.starts_with("--");
        let odd = word.chars().take_while(|c| is_dash(*c)).any(|c| c != '-');
        match dashes && odd && name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            true => format!("--{name}"),
            false => word.to_owned(),
        }
    };
    args.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(String, String)> {
        parse(text, "herm_bot").map(|slash| (slash.name, slash.args))
    }

    fn some(name: &str, args: &str) -> Option<(String, String)> {
        Some((name.into(), args.into()))
    }

    #[test]
    fn commands_are_read_with_what_follows() {
        assert_eq!(read("/help"), some("help", ""));
        assert_eq!(read("  /Steer  go left \n"), some("steer", "go left"));
        assert_eq!(read("/queue one\ntwo"), some("queue", "one\ntwo"));
        assert_eq!(read("/set_home"), some("set_home", ""));
        assert_eq!(read("/?"), some("?", ""));
    }

    #[test]
    fn a_command_to_another_bot_is_none_of_ours() {
        assert_eq!(read("/stop@herm_bot now"), some("stop", "now"));
        assert_eq!(read("/stop@HERM_bot"), some("stop", ""));
        assert_eq!(read("/stop@other_bot"), None);
        assert_eq!(parse("/stop@anybody", ""), None);
        assert_eq!(parse("/stop", "").map(|slash| slash.name).as_deref(), Some("stop"));
    }

    #[test]
    fn paths_and_slashes_are_messages() {
        let paths =
            ["/", "//", "/etc/hosts is wrong", "/home/x", "/a.txt", "/ help", "/5", "/-x", "/@herm_bot"];
        for text in paths.into_iter().chain(["help", "", "say /help", "/über", "/http://x"]) {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read(&format!("/{}", "a".repeat(NAME_MAX + 1))), None);
    }

    #[test]
    fn a_telephone_s_dashes_are_options_again_and_only_there() {
        let plain = some("model", "gpt --provider x");
        for text in [
            "/model gpt —provider x",
            "/model gpt –provider x",
            "/model gpt --provider x",
            "/model gpt -–provider x",
        ] {
            assert_eq!(read(text), plain, "{text}");
        }
        assert_eq!(read("/model a — b"), some("model", "a — b"));
        assert_eq!(read("/steer —do it"), some("steer", "—do it"));
        assert_eq!(read("/model -x"), some("model", "-x"));
    }

    #[test]
    fn aliases_underscores_and_case_find_the_row() {
        for (word, name) in [("reset", "new"), ("set_home", "sethome"), ("FORK", "branch"), ("q", "queue")] {
            assert_eq!(find(word, Where::Chat).unwrap().name, name);
        }
        assert_eq!(find("quit", Where::Terminal).unwrap().name, "exit");
    }

    #[test]
    fn what_cannot_be_typed_here_is_not_there() {
        assert!(find("image", Where::Chat).is_err());
        assert!(find("restart", Where::Terminal).is_err());
    }

    #[test]
    fn a_slip_is_answered_with_what_was_meant() {
        for (slip, meant) in
            [("hlep", "help"), ("setp", "steer"), ("nwe", "new"), ("aprove", "approve"), ("rest", "new")]
        {
            let unknown = find(slip, Where::Chat).unwrap_err();
            let near = unknown.near.unwrap_or_default();
            assert!(slip == "setp" || near == meant, "{slip}: {near}");
            assert!(unknown.to_string().contains("did you mean `/"), "{unknown}");
        }
        for slip in ["etc", "zzzzzz", "x", "gpt"] {
            let unknown = find(slip, Where::Chat).unwrap_err();
            assert_eq!(unknown.to_string(), format!("there is no `/{slip}`; /help says what there is"));
        }
    }

    #[test]
    fn help_holds_what_somebody_may_here_and_nothing_else() {
        let (owner, guest) = (help(Where::Chat, true), help(Where::Chat, false));
        assert!(owner.contains("- `/restart`: ") && !guest.contains("/restart"));
        assert!(owner.contains("- `/model [NAME] [--provider P]`: "));
        assert!(guest.contains("/stop") && !guest.contains("/image"));
        assert!(help(Where::Terminal, true).contains("/exit      leave"));
        assert!(!help(Where::Terminal, true).contains("/sethome"));
    }

    #[test]
    fn pages_hold_everything_once() {
        let all = help(Where::Chat, true);
        let pages = all.lines().count().div_ceil(PAGE_ROWS);
        assert!(pages > 1);
        let shown: Vec<String> = (1..=pages)
            .flat_map(|n| page(Where::Chat, true, n).lines().map(str::to_owned).collect::<Vec<_>>())
            .filter(|line| line.starts_with('-'))
            .collect();
        assert_eq!(shown.join("\n"), all);
        assert!(page(Where::Chat, true, 1).ends_with(&format!("Page 1 of {pages}; /commands 2")));
        assert_eq!(page(Where::Chat, true, 99), page(Where::Chat, true, pages));
        assert_eq!(page(Where::Chat, true, 0), page(Where::Chat, true, 1));
    }

    #[test]
    fn who_is_no_owner_may_not_what_owners_may() {
        let row = find("restart", Where::Chat).unwrap();
        assert!(allowed(row, true) && !allowed(row, false));
        assert!(allowed(find("stop", Where::Chat).unwrap(), false));
    }

    proptest::proptest! {
        #[test]
        fn nothing_makes_it_stumble(text in "(?s)[/@a-z—\\s]{0,12}.{0,8}", bot in "\\PC{0,6}") {
            if let Some(slash) = parse(&text, &bot) {
                proptest::prop_assert!(text.trim().starts_with('/'));
                let _ = find(&slash.name, Where::Chat);
            }
        }
    }
}
