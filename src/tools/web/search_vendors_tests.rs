//! Answers in the shapes that the vendors document, with values of our own.

use super::*;

fn vendor(name: &str) -> &'static Vendor {
    VENDORS.iter().find(|vendor| vendor.name == name).unwrap()
}

fn hit(title: &str, url: &str, description: &str) -> Hit {
    Hit { title: title.into(), url: url.into(), description: description.into() }
}

#[test]
fn each_vendor_is_asked_in_its_own_words() {
    let asked = Asked { query: "rust & \"logs\"", limit: 7 };
    let wire = |name: &str| (vendor(name).ask)("http://x", &asked);
    assert_eq!(wire("brave").url, "http://x/res/v1/web/search?q=rust%20%26%20%22logs%22&count=7");
    assert_eq!(wire("searxng").url, "http://x/search?q=rust%20%26%20%22logs%22&format=json");
    assert_eq!(wire("ddgs").url, "http://x/html/?q=rust%20%26%20%22logs%22");
    assert_eq!(wire("tavily").body.unwrap(), json!({"query": "rust & \"logs\"", "max_results": 7}));
    assert_eq!(wire("exa").body.unwrap()["numResults"], 7);
    assert_eq!(wire("firecrawl").body.unwrap(), json!({"query": "rust & \"logs\"", "limit": 7}));
    assert_eq!(wire("parallel").headers, [("parallel-beta", PARALLEL_BETA.to_owned())]);
}

#[test]
fn each_answer_is_read() {
    let expected = [hit("A title", "https://a.example/", "What it says")];
    for (name, answer) in [
        (
            "brave",
            json!({"web": {"results": [
                {"title": "A <strong>title</strong>", "url": "https://a.example/", "description": "What it <b>says</b>"},
            ]}}),
        ),
        (
            "tavily",
            json!({"results": [{"title": "A title", "url": "https://a.example/", "content": "What it says", "score": 0.9}]}),
        ),
        (
            "exa",
            json!({"results": [{"title": "A title", "url": "https://a.example/", "highlights": ["What it says"], "text": "x"}]}),
        ),
        (
            "firecrawl",
            json!({"success": true, "data": {"web": [{"title": "A title", "url": "https://a.example/", "description": "What it says"}]}}),
        ),
        (
            "firecrawl",
            json!({"success": true, "data": [{"title": "A title", "url": "https://a.example/", "description": "What it says"}]}),
        ),
        (
            "parallel",
            json!({"search_id": "s", "results": [{"title": "A title", "url": "https://a.example/", "excerpts": ["What it says"]}]}),
        ),
        (
            "searxng",
            json!({"query": "q", "results": [{"title": "A title", "url": "https://a.example/", "content": "What it says", "engine": "x"}, {"title": "no address"}]}),
        ),
    ] {
        assert_eq!((vendor(name).read)(answer.to_string().as_bytes()).unwrap(), expected, "{name}");
    }
    assert!((vendor("brave").read)(b"<html>").unwrap_err().contains("no JSON"));
    assert_eq!((vendor("brave").read)(b"{}").unwrap(), []);
}

#[test]
fn a_results_page_is_read() {
    let page = r#"<html><body>
        <div class="result results_links result--ad"><a class="result__a" href="https://ad.example/">Ad</a></div>
        <div class="result results_links web-result"><h2><a class="result__a"
            href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2Fx%3Fy%3D1&amp;rut=abc">A <b>title</b></a></h2>
            <a class="result__snippet">What   it says</a></div>
        <div class="result"><a class="result__a" href="https://b.example/">B</a></div>
        <div class="result"><a class="result__a" href="//duckduckgo.com/y.js?ad=1">Ad</a></div>
        </body></html>"#;
    let found = (vendor("ddgs").read)(page.as_bytes()).unwrap();
    assert_eq!(
        found,
        [hit("A title", "https://a.example/x?y=1", "What it says"), hit("B", "https://b.example/", "")]
    );
    let asks = r#"<form id="challenge-form"></form>"#;
    assert!((vendor("ddgs").read)(asks.as_bytes()).unwrap_err().contains("a person"));
}

#[test]
fn each_reader_of_pages_is_asked_and_read() {
    let urls = ["https://a.example/".to_owned(), "https://b.example/".to_owned()];
    let read = |name: &str, answer: Value, urls: &[String]| {
        (vendor(name).pages.as_ref().unwrap().read)(&answer, urls)
    };
    let tavily = json!({
        "results": [{"url": "https://a.example/", "raw_content": "# A"}],
        "failed_results": [{"url": "https://b.example/", "error": "timed out"}],
    });
    let pages = read("tavily", tavily, &urls);
    assert_eq!((pages[0].content.as_str(), &pages[0].error), ("# A", &None));
    assert_eq!(pages[1].error.as_deref(), Some("timed out"));
    let exa = json!({"results": [{"id": "https://b.example", "url": "https://b.example", "title": "B", "text": "b"}]});
    let pages = read("exa", exa, &urls);
    assert_eq!((pages[1].title.as_str(), pages[1].content.as_str()), ("B", "b"));
    assert!(pages[0].error.is_some(), "what is missing is said to be");
    let firecrawl = json!({"success": true, "data": {"markdown": "# A", "metadata": {"title": "T"}}});
    assert_eq!(read("firecrawl", firecrawl, &urls[..1])[0].title, "T");
    let parallel = json!({"results": [{"url": "https://moved.example/", "full_content": "a"}]});
    assert_eq!(
        read("parallel", parallel, &urls[..1])[0].content,
        "a",
        "a moved page is the one that was asked for"
    );
    let wire = (vendor("firecrawl").pages.as_ref().unwrap().ask)("http://x", &urls[..1]);
    assert_eq!(wire.body.unwrap()["formats"], json!(["markdown"]));
}
