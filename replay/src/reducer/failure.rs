//! PURE: what each class of failed model call allows to be done about it.
//!
//! A table and nothing else. Whoever acts on a failure reads these flags, never a vendor's words;
//! how words become a class is the providers' business.

use herm_schema::events::FailureClass;

/// What may help after a failed model call. Several may; the cheapest comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct FailureFlags {
    /// The same request, or the compressed one, may succeed at another attempt.
    pub retryable: bool,
    /// A smaller context is needed before another attempt.
    pub should_compress: bool,
    /// Another key of the same provider may succeed.
    pub should_rotate_credential: bool,
    /// Another provider or model may succeed.
    pub should_fallback: bool,
}

const fn row(retryable: bool, compress: bool, rotate: bool, fallback: bool) -> FailureFlags {
    FailureFlags {
        retryable,
        should_compress: compress,
        should_rotate_credential: rotate,
        should_fallback: fallback,
    }
}

/// The flags of `class`.
///
/// Classes that are mended by changing the request in another way than compressing it (smaller
/// images, no signatures, a plainer schema) are not retryable: the same bytes would fail again.
pub const fn flags(class: FailureClass) -> FailureFlags {
    use FailureClass as C;
    match class {
        //                                  retry  compress rotate fallback
        C::Auth => row(false, false, true, true),
        C::AuthPermanent => row(false, false, false, true),
        C::Billing => row(false, false, true, true),
        C::RateLimit => row(true, false, true, true),
        C::UpstreamRateLimit => row(true, false, false, true),
        C::Overloaded => row(true, false, false, true),
        C::ServerError => row(true, false, false, true),
        C::Timeout => row(true, false, false, true),
        C::SslCertVerification => row(false, false, false, true),
        C::ContextOverflow => row(true, true, false, false),
        C::PayloadTooLarge => row(true, true, false, false),
        C::ImageTooLarge => row(false, false, false, true),
        C::ModelNotFound => row(false, false, false, true),
        C::ProviderPolicyBlocked => row(false, false, false, false),
        C::ContentPolicyBlocked => row(false, false, false, true),
        C::FormatError => row(false, false, false, false),
        C::InvalidEncryptedContent => row(false, false, false, true),
        C::MultimodalToolContentUnsupported => row(false, false, false, true),
        C::ThinkingSignature => row(false, false, false, true),
        C::LongContextTier => row(true, true, false, false),
        C::OauthLongContextBetaForbidden => row(false, false, false, true),
        C::LlamaCppGrammarPattern => row(false, false, false, true),
        C::Unknown => row(true, false, false, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_compresses_is_tried_again_and_goes_nowhere_else() {
        use FailureClass as C;
        for class in [C::ContextOverflow, C::PayloadTooLarge, C::LongContextTier] {
            assert_eq!(flags(class), row(true, true, false, false), "{class:?}");
        }
    }

    #[test]
    fn a_key_is_only_changed_where_the_key_is_the_cause() {
        use FailureClass as C;
        for class in [C::UpstreamRateLimit, C::Overloaded, C::ServerError, C::Timeout, C::FormatError] {
            assert!(!flags(class).should_rotate_credential, "{class:?}");
        }
        for class in [C::Auth, C::Billing, C::RateLimit] {
            assert!(flags(class).should_rotate_credential, "{class:?}");
        }
    }
}
