//! The table of slash commands, one for the terminal and for chats: a row each, and everything else
//! about them is derived from it: reading, help, completion, suggestions, who may.
//!
//! Names are the reference's where it has the command. What a command does is done where it is typed.

/// One command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlashCommand {
    /// Without the slash.
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// As help shows them; empty for none. `[x]` may be left out.
    pub arguments: &'static str,
    /// For a person, in half a sentence.
    pub about: &'static str,
    pub place: Where,
    pub permission: Permission,
    /// It is done at once, also during a turn; others wait for its end.
    pub while_busy: bool,
    /// Its answer is for the person alone and may go after a while, where the platform can.
    pub ephemeral: bool,
}

/// Where a command can be typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    Terminal,
    Chat,
    Both,
}

impl Where {
    /// Whether a command of `self` can be typed at `there`, which is one of the two.
    pub fn includes(self, there: Self) -> bool {
        self == there || self == Self::Both
    }
}

/// Who may ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Everybody who is listened to.
    Everyone,
    /// Owners only: it reaches beyond the conversation, or is dangerous.
    Admin,
}

impl SlashCommand {
    /// Whether `name` is its name or an alias; in lower case, dashes and underscores alike: menus of
    /// platforms allow only one of them.
    pub fn is(&self, name: &str) -> bool {
        let same = |known: &str| {
            let fold = |c: char| if c == '_' { '-' } else { c.to_ascii_lowercase() };
            known.chars().map(fold).eq(name.chars().map(fold))
        };
        same(self.name) || self.aliases.iter().any(|alias| same(alias))
    }

    /// Whether its arguments have options, so that a keyboard's dashes in them are put right.
    pub fn has_options(&self) -> bool {
        self.arguments.contains("--")
    }
}

use Permission::{Admin, Everyone};
use Where::{Both, Chat, Terminal};

/// A row: name, aliases, arguments, about, where, who, and the marks `busy` and `ephemeral`.
macro_rules! commands {
    ($($name:literal $aliases:expr, $arguments:literal, $place:ident $permission:ident $busy:ident $kept:ident, $about:literal;)*) => {
        /// Every command, in the order of help.
        pub const COMMANDS: &[SlashCommand] = &[$(SlashCommand {
            name: $name,
            aliases: &$aliases,
            arguments: $arguments,
            about: $about,
            place: $place,
            permission: $permission,
            while_busy: $busy,
            ephemeral: $kept,
        },)*];
    };
}

const AT_ONCE: bool = true;
const WAITS: bool = false;
const FLEETING: bool = true;
const STAYS: bool = false;

commands! {
    "help" ["?"], "", Both Everyone AT_ONCE FLEETING, "what can be typed";
    "commands" [], "[page]", Chat Everyone AT_ONCE FLEETING, "the same, page by page";
    "start" [], "", Chat Everyone AT_ONCE FLEETING, "who I am and how this works";
    "new" ["reset"], "", Both Everyone WAITS STAYS, "a new session; the old one stays in the log";
    "stop" [], "", Both Everyone AT_ONCE STAYS, "interrupt the running turn";
    "steer" [], "TEXT", Both Everyone AT_ONCE STAYS, "tell the model something while it works";
    "queue" ["q"], "TEXT", Chat Everyone AT_ONCE FLEETING, "a message that waits for its own turn";
    "busy" [], "[queue|steer|interrupt]", Chat Everyone AT_ONCE FLEETING, "what a message does that arrives during a turn";
    "retry" [], "", Chat Everyone WAITS STAYS, "ask the last message again";
    "undo" [], "[N]", Chat Everyone WAITS STAYS, "take the last exchanges out of the conversation";
    "title" [], "[NAME]", Both Everyone AT_ONCE FLEETING, "what this session is called in lists";
    "branch" ["fork"], "[NAME]", Chat Everyone WAITS STAYS, "go on in a copy of this session";
    "sessions" [], "", Chat Everyone AT_ONCE FLEETING, "your sessions of this place";
    "resume" [], "[NAME]", Chat Everyone WAITS STAYS, "go on with an earlier session";
    "approve" [], "[N] [session|always]", Both Everyone AT_ONCE STAYS, "let a waiting call run: its number, and how far the yes reaches";
    "deny" [], "[N|all] [REASON]", Both Everyone AT_ONCE STAYS, "refuse a waiting call, by its number";
    "approvals" [], "", Terminal Everyone AT_ONCE FLEETING, "what waits for your yes, and what you have allowed for longer";
    "revoke" [], "N", Terminal Everyone AT_ONCE STAYS, "take a lasting yes back, by its number";
    "memory" [], "[log|undo|pending|approve|reject] [NAME]", Both Everyone AT_ONCE STAYS, "what I remember for you; who wrote it, take it back, say yes or no";
    "skills" [], "[NAME]", Both Everyone AT_ONCE FLEETING, "what I have been taught; /NAME of one puts it to use";
    "reloadskills" ["reload-skills"], "", Both Everyone AT_ONCE FLEETING, "look for skills again, and say what there is";
    "yolo" [], "", Chat Admin AT_ONCE STAYS, "whether dangerous calls of this session run without asking";
    "rollback" [], "[N]", Both Admin WAITS STAYS, "checkpoints of this directory; with a number, put it back";
    "model" [], "[NAME] [--provider P]", Both Admin AT_ONCE STAYS, "which model answers; with a name, another one from now on";
    "reasoning" [], "[LEVEL]", Chat Everyone AT_ONCE FLEETING, "how much the model reasons";
    "image" [], "PATH", Terminal Everyone AT_ONCE FLEETING, "show the model an image with the next message";
    "status" [], "", Chat Everyone AT_ONCE FLEETING, "what this session is doing";
    "usage" [], "", Both Everyone AT_ONCE FLEETING, "what this session has spent";
    "session" [], "", Terminal Everyone AT_ONCE FLEETING, "which session this is";
    "whoami" [], "", Chat Everyone AT_ONCE FLEETING, "who you are to me here, and what you may";
    "profile" [], "", Chat Everyone AT_ONCE FLEETING, "which profile answers here";
    "sethome" ["set-home"], "", Chat Admin AT_ONCE STAYS, "this chat is where what has no other place goes";
    "platforms" [], "", Chat Admin AT_ONCE FLEETING, "the platforms that I am on, and how they are";
    "platform" [], "pause|resume|list [NAME]", Chat Admin AT_ONCE STAYS, "switch a platform off and on";
    "restart" [], "", Chat Admin AT_ONCE STAYS, "finish what is running, then start again";
    "debug" [], "", Chat Admin AT_ONCE FLEETING, "facts about this session for a report of a fault";
    "version" ["v"], "", Chat Everyone AT_ONCE FLEETING, "which herm this is";
    "exit" ["quit"], "", Terminal Everyone AT_ONCE STAYS, "leave; unfinished work can be resumed";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_name_means_two_things() {
        let names =
            COMMANDS.iter().flat_map(|row| std::iter::once(row.name).chain(row.aliases.iter().copied()));
        let all: Vec<&str> = names.collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        for name in all {
            assert_eq!(COMMANDS.iter().filter(|row| row.is(name)).count(), 1, "{name}");
        }
    }

    #[test]
    fn what_a_turn_waits_for_and_what_ends_it_never_waits_for_the_turn() {
        for name in ["stop", "approve", "deny", "steer", "queue", "status", "help", "restart", "busy"] {
            let row = COMMANDS.iter().find(|row| row.name == name).unwrap();
            assert!(row.while_busy, "{name}");
        }
    }

    #[test]
    fn what_reaches_beyond_the_conversation_is_for_owners() {
        for name in ["yolo", "restart", "platform", "sethome", "rollback", "model", "debug"] {
            let row = COMMANDS.iter().find(|row| row.name == name).unwrap();
            assert_eq!(row.permission, Permission::Admin, "{name}");
        }
    }

    #[test]
    fn names_fit_the_menus_of_platforms() {
        // Telegram: 1 to 32 of a-z, 0-9 and `_`; Discord: besides, `-`. `?` is for people.
        for row in COMMANDS {
            assert!(row.name.len() <= 32 && row.name.chars().all(|c| c.is_ascii_lowercase()), "{}", row.name);
            assert!(!row.about.is_empty() && row.about.len() <= 100, "{}", row.name);
        }
    }
}
