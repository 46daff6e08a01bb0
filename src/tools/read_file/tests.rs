use super::page::{LINE_CHARS_MAX, PAGE_CHARS_MAX};
use super::*;
use crate::tools::Tool;
use crate::tools::testing::{place, wait};
use herm_schema::events::ToolStatus;
use proptest::prelude::*;

#[test]
fn lines_are_numbered_and_counted() {
    let place = place();
    place.write("a.txt", "one\ntwo\n\nfour");
    let shown = place.succeeds(&ReadFile, json!({"path": "a.txt"}));
    let expected = json!({
        "content": "1|one\n2|two\n3|\n4|four",
        "total_lines": 4,
        "file_size": 13,
        "truncated": false,
        "is_binary": false,
        "is_image": false,
    });
    assert_eq!(shown, expected);
}

#[test]
fn a_page_has_as_many_lines_as_were_asked_for() {
    let place = place();
    place.write("a.txt", "1\n2\n3\n4\n5\n");
    let shown = place.succeeds(&ReadFile, json!({"path": "a.txt", "limit": 3}));
    assert_eq!(shown["content"], "1|1\n2|2\n3|3");
    assert_eq!(shown["truncated"], true);
    assert_eq!(shown["hint"], "Lines 1-3 of 5. Read on with offset=4.");
    let rest = place.succeeds(&ReadFile, json!({"path": "a.txt", "offset": 4, "limit": 3}));
    assert_eq!((rest["content"].as_str().unwrap(), &rest["truncated"]), ("4|4\n5|5", &json!(false)));
    let past = place.succeeds(&ReadFile, json!({"path": "a.txt", "offset": 9}));
    assert_eq!(past["hint"], "The file has 5 lines; offset 9 is past its end.");
    let odd = place.succeeds(&ReadFile, json!({"path": "a.txt", "offset": -7, "limit": 0}));
    assert_eq!(odd["content"], "1|1");
}

#[test]
fn an_empty_file_is_no_error() {
    let place = place();
    place.write("empty", "");
    for path in ["empty", "/dev/null"] {
        let shown = place.succeeds(&ReadFile, json!({"path": path}));
        assert_eq!((&shown["content"], &shown["total_lines"]), (&json!(""), &json!(0)), "{path}");
        assert_eq!(shown["hint"], "The file is empty.");
    }
}

#[test]
fn a_missing_file_names_its_like() {
    let place = place();
    place.write("notes.md", "x");
    place.write("zebra", "x");
    let (status, shown) = place.run(&ReadFile, json!({"path": "note.md"}));
    assert_eq!(status, ToolStatus::Failed);
    assert!(shown["error"].as_str().unwrap().ends_with("note.md` does not exist"));
    assert_eq!(shown["similar_files"], json!([place.cwd.join("notes.md")]));
}

#[test]
fn what_has_no_end_or_is_no_file_is_refused() {
    let place = place();
    let fifo = place.cwd.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    std::os::unix::fs::symlink("/dev/zero", place.cwd.join("innocent")).unwrap();
    for path in ["/dev/zero", "/dev/stdin", "/proc/self/fd/0", "/proc/kmsg", "/proc/self/environ", "innocent"]
    {
        let error = place.fails(&ReadFile, json!({"path": path}));
        assert!(error.ends_with("not a file: it is not opened"), "{error}");
    }
    assert!(place.fails(&ReadFile, json!({"path": "pipe"})).contains("is a pipe, not a file"));
    assert!(place.fails(&ReadFile, json!({"path": "."})).contains("is a directory; list it with"));
    std::fs::write(place.context.home.join(".env"), "KEY=1").unwrap();
    let secret = place.context.home.join("x/../.env");
    assert!(place.fails(&ReadFile, json!({"path": secret})).contains("herm's own secrets"));
}

#[test]
fn what_is_remembered_for_anybody_is_not_read_or_written_as_a_file() {
    let place = place();
    for name in ["memories/MEMORY.md", "memories/people/x/USER.md", "profiles/beta/memories/USER.md"] {
        let path = place.context.home.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "private").unwrap();
        assert!(place.fails(&ReadFile, json!({"path": path})).contains("the memory tool"), "{name}");
        let write = json!({"path": path, "content": "mine"});
        assert!(place.fails(&crate::tools::WriteFile, write).contains("herm's own home"), "{name}");
    }
    let search = json!({"pattern": "private", "path": place.context.home});
    assert_eq!(place.succeeds(&crate::tools::SearchFiles, search)["total_count"], 0);
}

#[test]
fn files_of_the_kernel_are_read_as_they_come() {
    let shown = place().succeeds(&ReadFile, json!({"path": "/proc/self/status", "limit": 1}));
    assert!(shown["content"].as_str().unwrap().starts_with("1|Name:"), "{shown}");
    assert!(shown["total_lines"].as_u64().unwrap() > 10);
}

#[test]
fn encodings_and_line_ends_are_read() {
    let place = place();
    place.write("bom", b"\xef\xbb\xbfa\r\nb\r\n");
    let shown = place.succeeds(&ReadFile, json!({"path": "bom"}));
    assert_eq!(shown["content"], "1|a\n2|b");
    assert_eq!(shown["encoding"], "UTF-8 with a byte order mark");
    assert_eq!(shown["line_ends"], "CRLF");
    let utf16: Vec<u8> = "\u{feff}é\r\n漢".encode_utf16().flat_map(u16::to_le_bytes).collect();
    place.write("utf16", utf16);
    assert_eq!(place.succeeds(&ReadFile, json!({"path": "utf16"}))["content"], "1|é\n2|漢");
    place.write("latin1", b"caf\xe9\n");
    assert_eq!(place.succeeds(&ReadFile, json!({"path": "latin1"}))["content"], "1|café");
}

#[test]
fn a_long_line_of_two_byte_letters_is_text() {
    let place = place();
    let line = format!("a{}", "я".repeat(1_200));
    place.write("ru.txt", &line);
    let shown = place.succeeds(&ReadFile, json!({"path": "ru.txt"}));
    assert_eq!(shown["is_binary"], false);
    assert_eq!(shown["content"], format!("1|{line}"));
}

#[test]
fn binaries_and_pictures_are_named() {
    let place = place();
    place.write("x.bin", b"\0\x01\x02");
    place.write("x.png", b"\x89PNG\r\n\x1a\n\0");
    let (status, shown) = place.run(&ReadFile, json!({"path": "x.bin"}));
    assert_eq!(
        (status, &shown["is_binary"], &shown["is_image"]),
        (ToolStatus::Failed, &json!(true), &json!(false))
    );
    place.write("x.bmp", b"BM\x9a\0\0\0\0\0\0\0");
    let (status, shown) = place.run(&ReadFile, json!({"path": "x.bmp"}));
    assert_eq!(status, ToolStatus::Failed, "{shown}");
}

#[test]
fn a_picture_is_shown_beside_the_text() {
    let place = place();
    let bytes = b"\x89PNG\r\n\x1a\n\0";
    place.write("x.png", bytes);
    let result = wait(Tool::run(&ReadFile, &json!({"path": "x.png"}), &place.context));
    let [picture] = &result.images[..] else { panic!("{result:?}") };
    assert_eq!((picture.media_type.as_str(), picture.name.as_str()), ("image/png", "x.png"));
    assert_eq!(picture.bytes, bytes);
    let shown: serde_json::Value = serde_json::from_str(&result.shown).unwrap();
    assert_eq!((&shown["is_image"], &shown["file_size"]), (&json!(true), &json!(9)));
}

#[test]
fn long_lines_are_cut_at_a_character() {
    let place = place();
    for end in ["\n", "\r\n", ""] {
        place.write("just", format!("{}{end}", "漢".repeat(LINE_CHARS_MAX)));
        let shown = place.succeeds(&ReadFile, json!({"path": "just"}));
        assert_eq!(shown["content"], format!("1|{}", "漢".repeat(LINE_CHARS_MAX)), "{end:?}");
        place.write("over", format!("{}{end}", "漢".repeat(LINE_CHARS_MAX + 3)));
        let shown = place.succeeds(&ReadFile, json!({"path": "over"}));
        let expected = format!("1|{}… [3 more characters]", "漢".repeat(LINE_CHARS_MAX));
        assert_eq!(shown["content"], expected, "{end:?}");
        assert_eq!(shown["truncated"], true);
        assert_eq!(shown["hint"], "1 long lines are cut at 2000 characters.");
    }
}

#[test]
fn a_page_ends_before_it_is_too_long() {
    let place = place();
    place.write("wide", format!("{}\n", "x".repeat(1_999)).repeat(400));
    let shown = place.succeeds(&ReadFile, json!({"path": "wide"}));
    let content = shown["content"].as_str().unwrap();
    assert!(content.chars().count() <= PAGE_CHARS_MAX && content.lines().count() == 49, "{}", content.len());
    assert_eq!(shown["total_lines"], 400);
    assert_eq!(shown["hint"], "Lines 1-49 of 400. Read on with offset=50.");
}

#[test]
fn a_huge_file_gives_its_first_page_and_its_size() {
    let place = place();
    let path = place.write("huge", "first\n");
    let line = "0123456789abcdef".repeat(4) + "\n";
    std::fs::write(&path, line.repeat(600_000)).unwrap();
    let shown = place.succeeds(&ReadFile, json!({"path": "huge"}));
    assert_eq!(shown["total_lines"], 600_000);
    assert_eq!(shown["file_size"], 39_000_000);
    assert_eq!(shown["hint"], "Lines 1-500 of 600000. Read on with offset=501.");
}

#[test]
fn an_interrupt_ends_it() {
    let place = place();
    place.write("a", "x\n");
    place.context.cancel.cancel();
    assert_eq!(place.run(&ReadFile, json!({"path": "a"})).0, ToolStatus::Interrupted);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300), offset in -2_i64..5) {
        let place = place();
        place.write("any", &bytes);
        let (_, shown) = place.run(&ReadFile, json!({"path": "any", "offset": offset}));
        prop_assert!(shown.is_object());
    }

    #[test]
    fn every_line_comes_back(lines in proptest::collection::vec("[a-z漢é ]{0,12}", 1..40), limit in 1_i64..9) {
        let place = place();
        place.write("lines", lines.join("\n") + "\n");
        let mut read = Vec::new();
        while read.len() < lines.len() {
            let page = place.succeeds(
                &ReadFile,
                json!({"path": "lines", "offset": read.len() + 1, "limit": limit}),
            );
            let content = page["content"].as_str().unwrap();
            read.extend(content.split('\n').map(|line| line.split_once('|').unwrap().1.to_owned()));
        }
        prop_assert_eq!(read, lines);
    }
}
