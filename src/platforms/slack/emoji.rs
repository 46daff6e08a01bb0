//! PURE: Slack's names of emoji, where herm speaks of characters.
//!
//! Source: the short names of github.com/iamcal/emoji-data, which Slack uses. Those that people react
//! with; others are told by name.

const NAMES: &[(&str, &str)] = &[
    ("👍", "+1"),
    ("👍", "thumbsup"),
    ("👎", "-1"),
    ("👎", "thumbsdown"),
    ("👀", "eyes"),
    ("✅", "white_check_mark"),
    ("❌", "x"),
    ("⏳", "hourglass_flowing_sand"),
    ("⌛", "hourglass"),
    ("❤️", "heart"),
    ("🎉", "tada"),
    ("🙏", "pray"),
    ("👏", "clap"),
    ("🔥", "fire"),
    ("🚀", "rocket"),
    ("💯", "100"),
    ("😀", "grinning"),
    ("😄", "smile"),
    ("😂", "joy"),
    ("🙂", "slightly_smiling_face"),
    ("😉", "wink"),
    ("😍", "heart_eyes"),
    ("🤔", "thinking_face"),
    ("😢", "cry"),
    ("😭", "sob"),
    ("😡", "rage"),
    ("😱", "scream"),
    ("🤯", "exploding_head"),
    ("🤷", "shrug"),
    ("👋", "wave"),
    ("👌", "ok_hand"),
    ("🙌", "raised_hands"),
    ("💪", "muscle"),
    ("⚠️", "warning"),
    ("❓", "question"),
    ("❗", "exclamation"),
    ("⭐", "star"),
    ("💡", "bulb"),
    ("🛑", "octagonal_sign"),
    ("🔁", "repeat"),
    ("🤖", "robot_face"),
    ("📌", "pushpin"),
    ("🐛", "bug"),
    ("🔒", "lock"),
    ("✨", "sparkles"),
    ("☕", "coffee"),
    ("🆗", "ok"),
    ("➕", "heavy_plus_sign"),
    ("➖", "heavy_minus_sign"),
    ("✔️", "heavy_check_mark"),
];

/// A mark that only says that the character before is to be coloured.
const COLOURED: char = '\u{fe0f}';

/// The emoji of a name; a workspace's own as `:name:`.
pub(super) fn of_name(name: &str) -> String {
    let plain = name.split("::").next().unwrap_or(name);
    let found = NAMES.iter().find(|(_, known)| *known == plain);
    found.map_or_else(|| format!(":{plain}:"), |(emoji, _)| (*emoji).to_owned())
}

/// The name of an emoji; `None` if it is not known.
pub(super) fn name_of(emoji: &str) -> Option<String> {
    let named = emoji.strip_prefix(':').and_then(|rest| rest.strip_suffix(':'));
    if let Some(name) = named.filter(|name| !name.is_empty()) {
        return Some(name.to_owned());
    }
    let plain = emoji.trim_end_matches(COLOURED);
    let found = NAMES.iter().find(|(known, _)| known.trim_end_matches(COLOURED) == plain);
    found.map(|(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_emoji_and_back() {
        for (emoji, name) in NAMES {
            assert_eq!(of_name(name), *emoji);
            assert_eq!(of_name(&name_of(emoji).unwrap()), *emoji);
        }
        assert_eq!(of_name("+1::skin-tone-3"), "👍");
        assert_eq!((of_name("herm").as_str(), name_of(":herm:").as_deref()), (":herm:", Some("herm")));
        assert_eq!(name_of("❤").as_deref(), Some("heart"));
        assert_eq!((name_of("🪿"), name_of("::"), name_of("")), (None, None, None));
    }
}
