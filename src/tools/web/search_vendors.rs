//! Who searches the web: a row each, with how it is asked and how its answer is read. Pure.
//!
//! Sources (read 2026-11): the API references of Brave (v1), Tavily, Exa, Firecrawl (v2), Parallel
//! (v1beta), SearXNG (`/search?format=json`), and the results page of html.duckduckgo.com.

use serde_json::{Value, json};

use crate::tools::vendors::{Auth, Wire, query};

/// A question to a searcher.
pub struct Asked<'a> {
    pub query: &'a str,
    pub limit: usize,
}

/// One result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hit {
    pub title: String,
    pub url: String,
    pub description: String,
}

/// What one page came to, by a vendor that reads pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    pub url: String,
    pub title: String,
    pub content: String,
    pub error: Option<String>,
}

/// How a vendor is asked to read pages, and how its answer is read.
pub struct Reader {
    /// Pages of one request.
    pub at_once: usize,
    pub ask: fn(base: &str, urls: &[String]) -> Wire,
    pub read: fn(&Value, urls: &[String]) -> Vec<Page>,
}

/// A vendor.
pub struct Vendor {
    pub name: &'static str,
    /// Variables that its key may be in; none for one without keys.
    pub keys: &'static [&'static str],
    pub auth: Auth,
    /// Its own address; empty for one that a person must run.
    pub base: &'static str,
    pub ask: fn(base: &str, asked: &Asked<'_>) -> Wire,
    pub read: fn(&[u8]) -> Result<Vec<Hit>, String>,
    pub pages: Option<Reader>,
}

/// In the order in which they are taken where nothing is configured.
pub static VENDORS: &[Vendor] = &[
    Vendor {
        name: "brave",
        keys: &["BRAVE_SEARCH_API_KEY", "BRAVE_API_KEY"],
        auth: Auth::Header("x-subscription-token"),
        base: "https://api.search.brave.com",
        ask: |base, asked| {
            let count = asked.limit.min(20).to_string();
            Wire::get(format!("{base}/res/v1/web/search{}", query(&[("q", asked.query), ("count", &count)])))
                .header("accept", "application/json")
        },
        read: |bytes| hits(bytes, "/web/results", &["description"]),
        pages: None,
    },
    Vendor {
        name: "tavily",
        keys: &["TAVILY_API_KEY"],
        auth: Auth::Bearer,
        base: "https://api.tavily.com",
        ask: |base, asked| {
            Wire::post(
                format!("{base}/search"),
                json!({"query": asked.query, "max_results": asked.limit.min(20)}),
            )
        },
        read: |bytes| hits(bytes, "/results", &["content"]),
        pages: Some(Reader {
            at_once: 20,
            ask: |base, urls| {
                Wire::post(format!("{base}/extract"), json!({"urls": urls, "format": "markdown"}))
            },
            read: |answer, urls| {
                let failed = |url: &str| {
                    let all = answer.get("failed_results")?.as_array()?;
                    let one = all.iter().find(|one| text(one, "url") == url)?;
                    Some(text(one, "error"))
                };
                pages(answer, "/results", &["raw_content"], urls)
                    .into_iter()
                    .map(|page| Page { error: failed(&page.url).or(page.error), ..page })
                    .collect()
            },
        }),
    },
    Vendor {
        name: "exa",
        keys: &["EXA_API_KEY"],
        auth: Auth::Header("x-api-key"),
        base: "https://api.exa.ai",
        ask: |base, asked| {
            let contents = json!({"highlights": true, "text": {"maxCharacters": 500}});
            let body = json!({"query": asked.query, "numResults": asked.limit, "contents": contents});
            Wire::post(format!("{base}/search"), body)
        },
        read: |bytes| hits(bytes, "/results", &["highlights", "summary", "text"]),
        pages: Some(Reader {
            at_once: 20,
            ask: |base, urls| Wire::post(format!("{base}/contents"), json!({"urls": urls, "text": true})),
            read: |answer, urls| pages(answer, "/results", &["text"], urls),
        }),
    },
    Vendor {
        name: "firecrawl",
        keys: &["FIRECRAWL_API_KEY"],
        auth: Auth::Bearer,
        base: "https://api.firecrawl.dev",
        ask: |base, asked| {
            Wire::post(format!("{base}/v2/search"), json!({"query": asked.query, "limit": asked.limit}))
        },
        // The second version groups results by source, the first does not.
        read: |bytes| {
            let found = hits(bytes, "/data/web", &["description", "snippet"])?;
            if found.is_empty() { hits(bytes, "/data", &["description", "snippet"]) } else { Ok(found) }
        },
        pages: Some(Reader {
            at_once: 1,
            ask: |base, urls| {
                let url = urls.first().map(String::as_str).unwrap_or_default();
                let body = json!({"url": url, "formats": ["markdown"], "onlyMainContent": true});
                Wire::post(format!("{base}/v2/scrape"), body)
            },
            read: |answer, urls| {
                let data = answer.get("data").unwrap_or(answer);
                let title = data.pointer("/metadata/title").and_then(Value::as_str).unwrap_or_default();
                let content = text(data, "markdown");
                let error = content.is_empty().then(|| "nothing was found on the page".to_owned());
                let page = |url: &String| Page { url: url.clone(), title: title.into(), content, error };
                urls.first().map(page).into_iter().collect()
            },
        }),
    },
    Vendor {
        name: "parallel",
        keys: &["PARALLEL_API_KEY"],
        auth: Auth::Header("x-api-key"),
        base: "https://api.parallel.ai",
        ask: |base, asked| {
            let body = json!({
                "objective": asked.query, "search_queries": [asked.query], "processor": "base",
                "max_results": asked.limit, "max_chars_per_result": 1_000,
            });
            Wire::post(format!("{base}/v1beta/search"), body).header("parallel-beta", PARALLEL_BETA)
        },
        read: |bytes| hits(bytes, "/results", &["excerpts"]),
        pages: Some(Reader {
            at_once: 10,
            ask: |base, urls| {
                Wire::post(format!("{base}/v1beta/extract"), json!({"urls": urls, "full_content": true}))
                    .header("parallel-beta", PARALLEL_BETA)
            },
            read: |answer, urls| pages(answer, "/results", &["full_content", "excerpts"], urls),
        }),
    },
    Vendor {
        name: "searxng",
        keys: &[],
        auth: Auth::Nothing,
        base: "",
        ask: |base, asked| {
            Wire::get(format!("{base}/search{}", query(&[("q", asked.query), ("format", "json")])))
        },
        read: |bytes| hits(bytes, "/results", &["content"]),
        pages: None,
    },
    Vendor {
        name: "ddgs",
        keys: &[],
        auth: Auth::Nothing,
        base: "https://html.duckduckgo.com",
        ask: |base, asked| Wire::get(format!("{base}/html/{}", query(&[("q", asked.query)]))),
        read: duckduckgo,
        pages: None,
    },
];

const PARALLEL_BETA: &str = "search-extract-2025-10-10";

fn text(value: &Value, name: &str) -> String {
    match value.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" … "),
        _ => String::new(),
    }
}

fn first_of(value: &Value, names: &[&str]) -> String {
    names.iter().map(|name| text(value, name)).find(|text| !text.trim().is_empty()).unwrap_or_default()
}

/// The results at `pointer` of a JSON answer, described by the first of `fields` that says something.
fn hits(bytes: &[u8], pointer: &str, fields: &[&str]) -> Result<Vec<Hit>, String> {
    let answer: Value =
        serde_json::from_slice(bytes).map_err(|error| format!("the answer is no JSON: {error}"))?;
    let list = answer.pointer(pointer).and_then(Value::as_array);
    let hit = |one: &Value| Hit {
        title: plain(&text(one, "title")),
        url: text(one, "url"),
        description: plain(&first_of(one, fields)),
    };
    Ok(list.into_iter().flatten().map(hit).filter(|hit| !hit.url.is_empty()).collect())
}

/// The pages at `pointer`, in the order in which they were asked for; one that is missing says so.
fn pages(answer: &Value, pointer: &str, fields: &[&str], urls: &[String]) -> Vec<Page> {
    let list = answer.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default();
    let same = |a: &str, b: &str| a.trim_end_matches('/') == b.trim_end_matches('/');
    let page = |(index, url): (usize, &String)| {
        let named = list.iter().find(|one| same(&text(one, "url"), url) || same(&text(one, "id"), url));
        // Where as many came back as were asked for, a changed address is still the same page.
        let found = named.or_else(|| list.get(index).filter(|_| list.len() == urls.len()));
        let content = found.map(|one| first_of(one, fields)).unwrap_or_default();
        let error = content.trim().is_empty().then(|| "the vendor could not read it".to_owned());
        Page {
            url: url.clone(),
            title: found.map(|one| text(one, "title")).unwrap_or_default(),
            content,
            error,
        }
    };
    urls.iter().enumerate().map(page).collect()
}

/// Without the marks of bold that some answers have.
fn plain(text: &str) -> String {
    if !text.contains(['<', '&']) {
        return text.trim().to_owned();
    }
    dom_query::Document::from(text).text().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn duckduckgo(bytes: &[u8]) -> Result<Vec<Hit>, String> {
    let page = dom_query::Document::from(String::from_utf8_lossy(bytes).into_owned());
    let mut found = Vec::new();
    for result in page.select("div.result").iter() {
        if result.has_class("result--ad") {
            continue;
        }
        let link = result.select("a.result__a");
        let Some(url) = link.attr("href").and_then(|href| real_address(&href)) else { continue };
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let description = words(&result.select(".result__snippet").text());
        found.push(Hit { title: words(&link.text()), url, description });
    }
    let asks_back = page.select("#challenge-form, .anomaly-modal__title").exists();
    match found.is_empty() && asks_back {
        true => Err("it asks whether this is a person; try another backend".to_owned()),
        false => Ok(found),
    }
}

/// Links of the results page lead over the searcher's own counter.
fn real_address(href: &str) -> Option<String> {
    let full = if href.starts_with("//") { format!("https:{href}") } else { href.to_owned() };
    let url = reqwest::Url::parse(&full).ok()?;
    let counted = url.query_pairs().find(|(name, _)| name == "uddg").map(|(_, value)| value.into_owned());
    match counted {
        Some(real) => Some(real),
        None if url.host_str().is_some_and(|host| host.ends_with("duckduckgo.com")) => None,
        None => Some(full),
    }
}

#[cfg(test)]
#[path = "search_vendors_tests.rs"]
mod tests;
