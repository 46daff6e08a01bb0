//! Redirections: what is written, what is read, and what a command finds on its standard input.

use brush_parser::ast::{IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, RedirectList};

use super::Walk;
use crate::approval::parse;
use crate::approval::word::{Field, expand, expand_unsplit};

impl Walk {
    pub(super) fn redirects(&mut self, redirects: Option<&RedirectList>) {
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            self.redirect(redirect);
        }
    }

    pub(super) fn redirect(&mut self, redirect: &IoRedirect) {
        match redirect {
            IoRedirect::File(_, kind, target) => self.file_redirect(kind, target),
            IoRedirect::OutputAndError(word, _) => {
                let fields = expand(&word.value, self);
                self.reading.writes.extend(fields);
            }
            IoRedirect::HereString(_, word) => self.stdin = expand(&word.value, self).into_iter().next(),
            IoRedirect::HereDocument(_, document) => {
                let text = &document.doc.value;
                self.reading.compound = true;
                self.stdin = Some(match (document.requires_expansion, self.spend(text.len())) {
                    (false, _) => Field::literal(text),
                    (true, false) => Field::unknown(),
                    (true, true) => match parse::document_pieces(text) {
                        Some(pieces) => expand_unsplit(&pieces, self),
                        None => return self.unread("a here-document in it cannot be read"),
                    },
                });
            }
        }
    }

    fn file_redirect(&mut self, kind: &IoFileRedirectKind, target: &IoFileRedirectTarget) {
        let fields = match target {
            IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => {
                expand(&word.value, self)
            }
            IoFileRedirectTarget::Fd(_) => return,
            IoFileRedirectTarget::ProcessSubstitution(_, subshell) => {
                self.reading.compound = true;
                return self.scoped(|walk| walk.list(&subshell.list));
            }
        };
        match kind {
            IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput => {
                self.reading.reads.extend(fields)
            }
            IoFileRedirectKind::Write
            | IoFileRedirectKind::Append
            | IoFileRedirectKind::ReadAndWrite
            | IoFileRedirectKind::Clobber
            | IoFileRedirectKind::DuplicateOutput => {
                // `2>&1` and `>&-` name no file.
                let names_file = |field: &Field| {
                    !field.value().is_some_and(|text| text == "-" || text.parse::<u32>().is_ok())
                };
                let duplicates = matches!(kind, IoFileRedirectKind::DuplicateOutput);
                self.reading
                    .writes
                    .extend(fields.into_iter().filter(|field| !duplicates || names_file(field)));
            }
        }
    }
}
