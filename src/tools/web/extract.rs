//! `web_extract`: what pages say, as Markdown; several at once, each with its own fate.

use std::time::Duration;

use futures_util::StreamExt;
use herm_schema::events::ToolFacts;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::fetch::Fetcher;
use super::guard::Guard;
use super::search_vendors::Page;
use super::{Backend, page};
use crate::providers::BoxFuture;
use crate::tools::vendors::Caller;
use crate::tools::{ToolContext, ToolResult, Typed, outcome, text, typed};

/// Pages of one call, at most.
const PAGES_MAX: usize = 10;
/// Pages that are fetched at the same time, at most.
const AT_ONCE_MAX: usize = 5;
/// Bytes of one page that are read, at most.
const PAGE_BYTES_MAX: usize = 8 << 20;
/// Fewest characters of a page that can be asked for.
const CHARS_MIN: u64 = 500;
/// Time that a vendor has to read pages.
const TIME_MAX: Duration = Duration::from_secs(60);

/// The tool.
pub struct WebExtract {
    /// Who reads pages instead of herm itself, if anybody is to; or that it cannot.
    pub(super) reader: Result<Option<Backend>, String>,
    pub(super) fetcher: Fetcher,
    pub(super) guard: Guard,
    pub(super) chars_max: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    #[schemars(length(max = 10))]
    urls: Vec<String>,
    /// characters of each page
    char_limit: Option<u64>,
}

impl Typed for WebExtract {
    type Args = Arguments;

    fn facts(&self) -> ToolFacts {
        typed::reading("web_extract")
    }

    fn description(&self) -> &'static str {
        "Read web pages as Markdown."
    }

    fn available(&self) -> Result<(), String> {
        self.reader.as_ref().map(drop).map_err(Clone::clone)
    }

    fn call<'a>(&'a self, args: Arguments, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            if args.urls.is_empty() || args.urls.len() > PAGES_MAX {
                return outcome::failed(format!("`urls` takes 1 to {PAGES_MAX} addresses"));
            }
            let reading = async {
                match &self.reader {
                    Err(why) => Err(Some(why.clone())),
                    Ok(None) => Ok(self.fetched(&args.urls).await),
                    Ok(Some(backend)) => self.asked(backend, &args.urls, context).await,
                }
            };
            let pages = tokio::select! {
                biased;
                () = context.cancel.cancelled() => return outcome::interrupted(),
                pages = reading => pages,
            };
            match pages {
                Ok(pages) => self.shown(pages, args.char_limit, context),
                Err(Some(error)) => outcome::failed(error),
                Err(None) => outcome::interrupted(),
            }
        })
    }
}

impl WebExtract {
    /// By herm itself.
    async fn fetched(&self, urls: &[String]) -> Vec<Page> {
        let each: Vec<_> = urls.iter().map(|url| self.one(url)).collect();
        futures_util::stream::iter(each).buffered(AT_ONCE_MAX).collect().await
    }

    async fn one(&self, url: &str) -> Page {
        let text = match self.fetcher.get(url, PAGE_BYTES_MAX).await {
            Ok(fetched) => {
                let cut = fetched.cut;
                let read = tokio::task::spawn_blocking(move || page::read(&fetched)).await;
                let read = read.unwrap_or_else(|_| Err("herm failed to read this page".to_owned()));
                read.map(|text| (text, cut))
            }
            Err(error) => Err(error.to_string()),
        };
        let url = url.to_owned();
        match text {
            Ok((text, cut)) => {
                let note =
                    if cut { "\n\n[The page goes on; this is where herm stopped fetching.]" } else { "" };
                Page { url, title: text.title, content: text.content + note, error: None }
            }
            Err(error) => Page { url, error: Some(error), ..Page::default() },
        }
    }

    /// By a vendor. What the guard refuses is not sent there either: an address inside is nobody's business.
    async fn asked(
        &self,
        backend: &Backend,
        urls: &[String],
        context: &ToolContext,
    ) -> Result<Vec<Page>, Option<String>> {
        let Some(reader) = &backend.vendor.pages else { return Ok(self.fetched(urls).await) };
        let caller = Caller::new(TIME_MAX).map_err(Some)?;
        let mut pages: Vec<Page> = Vec::new();
        let mut good = Vec::new();
        for url in urls {
            match self.guard.read(url) {
                Ok(read) => good.push(read.to_string()),
                Err(error) => {
                    pages.push(Page { url: url.clone(), error: Some(error.to_string()), ..Page::default() })
                }
            }
        }
        for some in good.chunks(reader.at_once) {
            let wire = (reader.ask)(&backend.base, some);
            let auth = (backend.vendor.auth, backend.key.as_ref());
            let answer = caller.ask(backend.vendor.name, wire, auth, &context.cancel).await;
            match answer.and_then(|answer| answer.json().map_err(Some)) {
                Ok(answer) => pages.extend((reader.read)(&answer, some)),
                Err(None) => return Err(None),
                Err(Some(error)) => {
                    let failed = |url: &String| Page {
                        url: url.clone(),
                        error: Some(error.clone()),
                        ..Page::default()
                    };
                    pages.extend(some.iter().map(failed));
                }
            }
        }
        Ok(pages)
    }

    /// Each page cut to its share; what is left out lies in the spool, where the model can read it.
    fn shown(&self, pages: Vec<Page>, char_limit: Option<u64>, context: &ToolContext) -> ToolResult {
        let most = context.limits.bytes_max / pages.len().max(1) / 2;
        let asked = char_limit.map(|limit| usize::try_from(limit.max(CHARS_MIN)).unwrap_or(usize::MAX));
        let chars_max = asked.unwrap_or(self.chars_max).min(most.max(CHARS_MIN as usize));
        let (mut whole, mut results, mut is_cut) = (String::new(), Vec::new(), false);
        for page in &pages {
            if let Some(error) = &page.error {
                let error = crate::tools::sanitize::plain(error);
                results.push(json!({"url": page.url, "title": "", "content": "", "error": error}));
                continue;
            }
            whole.push_str(&format!("# {} <{}>\n\n{}\n\n", page.title, page.url, page.content));
            let (kept, left) = text::head(&page.content, chars_max);
            let mut result = Map::new();
            result.insert("url".into(), json!(page.url));
            result.insert("title".into(), json!(page.title));
            result.insert("content".into(), json!(kept));
            if left > 0 {
                is_cut = true;
                result.insert("left_out_chars".into(), json!(left));
            }
            results.push(Value::Object(result));
        }
        let all_failed = pages.iter().all(|page| page.error.is_some());
        let mut shown = Map::new();
        shown.insert("results".into(), json!(results));
        let full = is_cut.then(|| keep(&whole, context)).flatten();
        if let Some(path) = &full {
            shown.insert(
                "full_text".into(),
                json!(format!("all of it is in `{}`; page through it with read_file", path.display())),
            );
        }
        if all_failed {
            let first = pages.iter().find_map(|page| page.error.clone()).unwrap_or_default();
            return outcome::failed_with(first, shown);
        }
        ToolResult { full, ..outcome::succeeded(&Value::Object(shown)) }
    }
}

fn keep(text: &str, context: &ToolContext) -> Option<std::path::PathBuf> {
    let path = context.spool.join("output");
    let kept = std::fs::create_dir_all(&context.spool).and_then(|()| std::fs::write(&path, text));
    match kept {
        Ok(()) => Some(path),
        Err(error) => {
            tracing::warn!(%error, path = %path.display(), "cannot keep the whole text of pages");
            None
        }
    }
}
