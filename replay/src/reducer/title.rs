//! PURE: the title in what a model answered.

/// Longest title, in characters; models that go on and on are cut.
pub const CHARS_MAX: usize = 80;

/// The title in what a model answered; `None` where there is none.
pub fn of_answer(answer: &str) -> Option<String> {
    let line = answer.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = line.trim_start_matches(['#', '*', ' ']).trim_end_matches('*');
    let line =
        ["Title:", "title:", "TITLE:"].iter().find_map(|label| line.strip_prefix(label)).unwrap_or(line);
    let quotes = ['"', '\'', '`', '“', '”', '«', '»', '「', '」', '*'];
    let title = line.trim().trim_matches(quotes).trim_end_matches(['.', '。']).trim();
    let title: String =
        title.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(CHARS_MAX).collect();
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_found_in_what_models_say() {
        for (answer, expected) in [
            ("Fixing the build", Some("Fixing the build")),
            ("\n\n**\"Fixing the build.\"**\nMore words.", Some("Fixing the build")),
            ("Title: «Сборка»", Some("Сборка")),
            ("# 修复构建。", Some("修复构建")),
            ("  \n ", None),
            ("\"\"", None),
        ] {
            assert_eq!(of_answer(answer).as_deref(), expected, "{answer:?}");
        }
        assert!(of_answer(&"word ".repeat(100)).is_some_and(|title| title.chars().count() == CHARS_MAX));
    }
}
