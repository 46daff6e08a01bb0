//! PURE: ordinary sentences as steps, where they can mean one thing only.
//!
//! A row of verbs and what must follow them; no guessing. A path has to look like one, a command
//! has to be quoted or announced, so that "read between the lines" and "run away" stay talk.

use super::plan::{Step, find};

/// The step that `line` asks for, if it is plain.
pub(super) fn read(line: &str) -> Option<Step> {
    let line = line.trim().trim_end_matches(['。', '！', '？', '!', '?']);
    let line = line.strip_suffix('.').filter(|rest| !rest.ends_with('.')).unwrap_or(line);
    let line =
        after_any(line, &["please ", "can you ", "could you ", "now ", "then ", "first, ", "请", "帮我"])
            .unwrap_or(line)
            .trim();
    search(line)
        .or_else(|| run(line))
        .or_else(|| write(line))
        .or_else(|| list(line))
        .or_else(|| look(line))
        .or_else(|| read_file(line))
}

/// What follows the first of `leads` that `line` begins with; case does not matter.
fn after_any<'a>(line: &'a str, leads: &[&str]) -> Option<&'a str> {
    leads.iter().find_map(|lead| {
        let head = line.get(..lead.len())?;
        head.eq_ignore_ascii_case(lead).then(|| line.get(lead.len()..))?
    })
}

/// Splits at `joint`, whatever its case; both sides trimmed.
fn around<'a>(line: &'a str, joint: &str) -> Option<(&'a str, &'a str)> {
    let at = line.to_ascii_lowercase().find(joint)?;
    Some((line.get(..at)?.trim(), line.get(at + joint.len()..)?.trim()))
}

const QUOTES: [(char, char); 7] =
    [('`', '`'), ('"', '"'), ('\'', '\''), ('“', '”'), ('「', '」'), ('『', '』'), ('《', '》')];

/// `text` without the quotation marks around it.
pub(super) fn unquoted(text: &str) -> &str {
    quoted(text).unwrap_or(text.trim())
}

/// What stands between one pair of quotation marks that encloses all of `text`.
fn quoted(text: &str) -> Option<&str> {
    let text = text.trim();
    QUOTES.iter().find_map(|(open, close)| {
        let inner = text.strip_prefix(*open)?.strip_suffix(*close)?;
        (!inner.is_empty() && !inner.contains([*open, *close])).then_some(inner)
    })
}

pub(super) fn is_one_word(text: &str) -> bool {
    quoted(text).is_some() || (!text.trim().is_empty() && !text.trim().contains(char::is_whitespace))
}

/// Quoted, or one word with a dot inside, a slash or a tilde.
fn path(text: &str) -> Option<&str> {
    let text = text.trim();
    if let Some(inner) = quoted(text) {
        return Some(inner);
    }
    let dotted = text.trim_start_matches('.').chars().zip(text.trim_start_matches('.').chars().skip(1));
    let dotted = dotted.into_iter().any(|(dot, next)| dot == '.' && next.is_alphanumeric());
    let hidden =
        text.len() > 1 && text.starts_with('.') && text.chars().nth(1).is_some_and(char::is_alphanumeric);
    let looks = dotted || hidden || text.contains('/') || text.starts_with('~');
    (is_one_word(text) && looks && !text.contains("://")).then_some(text)
}

/// A directory: like a path, or one plain word, or `.`.
fn directory(text: &str) -> Option<&str> {
    let text = after_any(text.trim(), &["the "]).unwrap_or(text).trim();
    let text = ["directory", "folder", "目录", "文件夹"]
        .iter()
        .find_map(|noun| text.strip_suffix(noun))
        .unwrap_or(text)
        .trim();
    match text {
        "here" | "current" | "this" | "当前" | "这里" => Some("."),
        _ => is_one_word(text).then(|| unquoted(text)),
    }
}

fn run(line: &str) -> Option<Step> {
    let rest = after_any(line, &["run ", "execute ", "运行", "执行"])?.trim();
    let announced = after_any(rest, &["the command ", "command ", "命令", "the shell command "]);
    let command = quoted(announced.unwrap_or(rest)).or(announced)?;
    Some(Step::Run { command: unquoted(command).to_owned() }).filter(|_| !command.trim().is_empty())
}

fn read_file(line: &str) -> Option<Step> {
    let verbs = [
        "read ",
        "open ",
        "show me ",
        "show ",
        "cat ",
        "print ",
        "display ",
        "读取",
        "阅读",
        "查看",
        "打开",
        "读一下",
        "读",
    ];
    let asked = ["what is in ", "what's in ", "what does "];
    let rest = after_any(line, &verbs).or_else(|| after_any(line, &asked)).map(str::trim)?;
    let rest = after_any(rest, &["the contents of ", "the content of ", "文件"]).unwrap_or(rest);
    let rest = after_any(rest, &["the file ", "file "]).unwrap_or(rest);
    let rest = [" say", "的内容", " file"].iter().find_map(|end| rest.strip_suffix(end)).unwrap_or(rest);
    Some(Step::Read { path: path(rest)?.to_owned() })
}

fn list(line: &str) -> Option<Step> {
    let all = |place: &str| Step::Find { pattern: "*".into(), path: Some(place.to_owned()), files: true };
    let english = [
        "list the files",
        "list all files",
        "list files",
        "show the files",
        "show me the files",
        "what files are",
        "which files are",
    ];
    if let Some(rest) = after_any(line, &english) {
        let rest = rest.trim();
        if rest.is_empty() || rest.eq_ignore_ascii_case("here") || rest == "there" {
            return Some(all("."));
        }
        let place = after_any(rest, &["there in ", "in ", "under ", "of ", "inside "])?;
        return directory(place).map(all);
    }
    let rest = after_any(line, &["列出"])?.trim();
    let rest = ["里的文件", "中的文件", "下的文件", "的文件", "文件"]
        .iter()
        .find_map(|end| rest.strip_suffix(end))?;
    let rest = rest.strip_suffix("所有").unwrap_or(rest);
    if rest.is_empty() { Some(all(".")) } else { directory(rest).map(all) }
}

fn look(line: &str) -> Option<Step> {
    if let Some(rest) = after_any(
        line,
        &["find files named ", "find the file named ", "find files called ", "find all files named "],
    ) {
        let (name, place) = around(rest, " in ").map_or((rest, None), |(name, place)| (name, Some(place)));
        let place = place.map(directory);
        if is_one_word(name) && place != Some(None) {
            let path = place.flatten().map(str::to_owned);
            return Some(Step::Find { pattern: unquoted(name).to_owned(), path, files: true });
        }
    }
    let leads = ["find ", "search for ", "look for ", "grep for ", "grep ", "查找"];
    let rest = after_any(line, &leads)?.trim();
    let (pattern, place) = around(rest, " in ")?;
    let place = after_any(place, &["the file ", "the folder ", "the directory "]).unwrap_or(place);
    let place = quoted(place).or_else(|| path(place)).or_else(|| is_one_word(place).then_some(place))?;
    // One word, or quoted: "find a good restaurant in Rome" is talk.
    is_one_word(pattern).then(|| find(&format!("{pattern} in {place}")))
}

fn search(line: &str) -> Option<Step> {
    const PAST: [&str; 10] = [
        "past chats",
        "past sessions",
        "past conversations",
        "old chats",
        "old sessions",
        "previous chats",
        "previous sessions",
        "previous conversations",
        "chat history",
        "sessions",
    ];
    let asked = |query: &str| {
        let query = unquoted(query);
        (!query.is_empty()).then(|| Step::Search { query: query.to_owned() })
    };
    if let Some(rest) = after_any(line, &["search ", "look through ", "look in "]) {
        let rest = after_any(rest, &["in "]).unwrap_or(rest);
        let rest = after_any(rest, &["my ", "our ", "the "]).unwrap_or(rest);
        if let Some(query) =
            after_any(rest, &PAST).and_then(|rest| after_any(rest.trim(), &["for ", "about "]))
        {
            return asked(query);
        }
    }
    let backwards = after_any(line, &["search for "]).and_then(|rest| {
        PAST.iter().find_map(|past| {
            ["in my ", "in our ", "in the ", "in "]
                .iter()
                .find_map(|lead| around(rest, &format!(" {lead}{past}")))
        })
    });
    if let Some((query, "")) = backwards {
        return asked(query);
    }
    let chinese = [
        "搜索历史",
        "搜索以前的对话",
        "搜索过去的对话",
        "在历史对话中搜索",
        "在以前的对话中搜索",
        "搜索聊天记录",
    ];
    asked(after_any(line, &chinese)?.trim_start_matches([':', '：', ' ', '中', '的']))
}

fn write(line: &str) -> Option<Step> {
    let made =
        |path: &str, text: &str| Step::Write { path: path.to_owned(), text: unquoted(text).to_owned() };
    if let Some(rest) = after_any(line, &["create ", "write ", "make "]) {
        let rest = after_any(rest, &["a new file ", "a file ", "the file ", "file ", "a text file "]);
        if let Some(rest) = rest {
            let rest = after_any(rest, &["named ", "called "]).unwrap_or(rest);
            let joints = [
                " with the text ",
                " with the contents ",
                " with the content ",
                " with text ",
                " with contents ",
                " with content ",
                " containing the text ",
                " containing ",
                " that says ",
            ];
            let (name, text) = joints.iter().find_map(|joint| around(rest, joint))?;
            return (is_one_word(name) && !text.is_empty()).then(|| made(unquoted(name), text));
        }
    }
    if let Some(rest) = after_any(line, &["write "]) {
        let at = rest.to_ascii_lowercase().rfind(" to ")?;
        let (text, target) = (rest.get(..at)?, rest.get(at + " to ".len()..)?);
        let target = after_any(target.trim(), &["the file ", "a file named ", "file "]).unwrap_or(target);
        return quoted(text).and_then(|text| Some(made(path(target)?, text)));
    }
    let rest = after_any(line, &["创建文件", "新建文件", "写文件"])?.trim();
    let joints = ["，内容为", ",内容为", " 内容为", "内容为", "，内容是", "内容是"];
    let (name, text) = joints.iter().find_map(|joint| around(rest, joint))?;
    let text = text.trim_start_matches([':', '：', ' ']);
    (is_one_word(name) && !text.is_empty()).then(|| made(unquoted(name), text))
}
