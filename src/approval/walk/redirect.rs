//! Redirections: what is written, and what a command finds on its standard input.

use std::sync::Arc;

use brush_parser::ast::{IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, RedirectList};

use super::Walk;
use crate::approval::parse;
use crate::approval::reading::{Stdin, Write};
use crate::approval::word::{Field, expand, expand_unsplit};

impl Walk<'_> {
    pub(super) fn redirects(&mut self, redirects: Option<&RedirectList>) {
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            self.redirect(redirect);
        }
    }

    pub(super) fn writes(&mut self, targets: impl IntoIterator<Item = Field>) {
        let cwd = self.cwd.clone();
        let writes = targets.into_iter().map(|target| Write { target, cwd: cwd.clone() });
        self.reading.writes.extend(writes);
    }

    pub(super) fn redirect(&mut self, redirect: &IoRedirect) {
        match redirect {
            IoRedirect::File(number, kind, target) => self.file_redirect(*number, kind, target),
            IoRedirect::OutputAndError(word, _) => {
                let fields = expand(&word.value, self);
                self.writes(fields);
            }
            IoRedirect::HereString(_, word) => {
                let field = match parse::pieces(&word.value, &self.depth) {
                    Some(pieces) => expand_unsplit(&pieces, self),
                    None => return self.unread("a here-string in it cannot be read"),
                };
                self.stdin = Some(Arc::new(Stdin::Document(field)));
            }
            IoRedirect::HereDocument(_, document) => {
                let text = &document.doc.value;
                let field = match (document.requires_expansion, self.spend(text.len())) {
                    (false, _) => Field::literal(text),
                    (true, false) => Field::unknown(),
                    (true, true) => match parse::document_pieces(text, &self.depth) {
                        Some(pieces) => expand_unsplit(&pieces, self),
                        None => return self.unread("a here-document in it cannot be read"),
                    },
                };
                self.stdin = Some(Arc::new(Stdin::Document(field)));
            }
        }
    }

    fn file_redirect(
        &mut self,
        number: Option<i32>,
        kind: &IoFileRedirectKind,
        target: &IoFileRedirectTarget,
    ) {
        let reads = matches!(kind, IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput);
        let fields = match target {
            IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => {
                expand(&word.value, self)
            }
            IoFileRedirectTarget::Fd(_) => return,
            IoFileRedirectTarget::ProcessSubstitution(_, subshell) => {
                let stdin = self.stdin.take();
                self.scoped(|walk| walk.list(&subshell.list));
                self.stdin = if reads { Some(Arc::new(Stdin::Process)) } else { stdin };
                return;
            }
        };
        // `2>&1` and `>&-` name no file.
        let names_file = |field: &Field| {
            let text = field.text().trim_end_matches('-');
            !(field.value().is_some() && text.chars().all(|c| c.is_ascii_digit()))
        };
        if reads {
            let file = fields.into_iter().next().filter(names_file);
            if let Some(file) = file.filter(|_| number.unwrap_or(0) == 0) {
                self.stdin = Some(Arc::new(Stdin::File(file)));
            }
            return;
        }
        let duplicates = matches!(kind, IoFileRedirectKind::DuplicateOutput);
        self.writes(fields.into_iter().filter(|field| !duplicates || names_file(field)));
    }
}
