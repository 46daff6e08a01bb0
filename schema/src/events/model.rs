//! Model calls: the question as a digest, the answer whole.

use super::{ExitReason, Prices};
use crate::{Digest, JsonText, Micros, StreamPos};

payload! {
    /// Intent: a request is about to be sent.
    pub struct ModelCallStarted {
        /// The how-manieth model call of the session, from 1; attempts at the same one share it.
        pub call: u32,
        /// From 1.
        pub attempt: u32,
        /// The how-manieth iteration of the turn, from 1.
        pub iteration: u32,
        pub purpose: ModelPurpose,
        /// Digest of the neutral request.
        pub request_digest: Digest,
        /// Size of the request as herm estimates it.
        pub estimated_tokens: u64,
        pub provider: String,
        pub model: String,
        /// Fingerprint of the key, never the key.
        pub credential: Option<String>,
        /// Which model of the policy: 0 is the session's own, 1 its first fallback.
        pub route: u32,
    }
}

payload! {
    /// What a model call is for.
    #[derive(Copy)]
    pub enum ModelPurpose {
        Turn,
        /// A last word without tools, because a limit was reached.
        ClosingSummary { reason: ExitReason },
    }
}

payload! {
    /// Outcome: the model answered.
    pub struct ModelCallSucceeded {
        pub message: AssistantMessage,
        pub finish: Finish,
        /// As the provider reports it; `None` if it does not.
        pub usage: Option<Usage>,
        pub timings: Timings,
        /// The provider's id of the response.
        pub response_id: Option<String>,
    }
}

payload! {
    /// What the model said, in neutral form.
    #[derive(Default)]
    pub struct AssistantMessage {
        pub text: String,
        pub reasoning: Option<String>,
        pub calls: Vec<ToolCall>,
        /// What only the provider's own family understands.
        pub extras: Option<ProviderExtras>,
    }
}

payload! {
    /// A tool call that the model asks for.
    pub struct ToolCall {
        /// The provider's id; not unique across answers.
        pub id: String,
        pub name: String,
        /// As the model wrote them, which need not be valid JSON.
        pub arguments: JsonText,
    }
}

payload! {
    /// Reasoning items, signatures and the like; sent back only to the family that made them.
    pub struct ProviderExtras {
        pub family: String,
        pub json: JsonText,
    }
}

payload! {
    /// Why the model stopped.
    #[derive(Copy)]
    pub enum Finish {
        Stop,
        ToolCalls,
        /// The output limit; arguments may be cut and are not executed.
        Length,
        /// The provider withheld the answer.
        ContentFilter,
    }
}

payload! {
    /// Tokens, normalised.
    #[derive(Copy, Default)]
    pub struct Usage {
        /// The whole prompt, cached parts included.
        pub input: u64,
        pub cached_read: u64,
        pub cached_write: u64,
        /// Reasoning included.
        pub output: u64,
        pub reasoning: u64,
    }
}

payload! {
    #[derive(Copy, Default)]
    pub struct Timings {
        /// Until the first content.
        pub first_content_us: u64,
        pub total_us: u64,
    }
}

payload! {
    /// Outcome: the model call failed.
    pub struct ModelCallFailed {
        pub failure: ModelFailure,
        pub action: FailureAction,
    }
}

payload! {
    /// What went wrong, classified; what the provider said, redacted.
    pub struct ModelFailure {
        pub class: FailureClass,
        pub status: Option<u16>,
        pub message: String,
        /// What the provider asks to be waited.
        pub retry_after_us: Option<u64>,
    }
}

payload! {
    /// What herm does about a failed model call.
    #[derive(Copy)]
    pub enum FailureAction {
        /// Another attempt, not before this time.
        Retry { not_before: Micros },
        /// Compress the context, then another attempt.
        Compress,
        /// End the turn.
        GiveUp,
        /// Another attempt with another key of the same provider.
        Rotate,
        /// Another attempt with the model of this route.
        FallBack { route: u32 },
        /// Another attempt without what was refused.
        Strip { what: Stripped },
        /// Another attempt with images of at most this many pixels a side.
        ShrinkImages { side_px_max: u32 },
    }
}

payload! {
    /// What a request can do without.
    #[derive(Copy, PartialOrd, Ord)]
    pub enum Stripped {
        /// Reasoning items and their signatures, of every answer so far.
        Reasoning,
        /// `pattern` and `format` in the schemas of tools.
        SchemaPatterns,
        /// The opt-in to a longer context window.
        LongContext,
        /// Images in tool results.
        ToolImages,
    }
}

payload! {
    /// The reasons of the reference's section 3.15. The order is part of the bytes.
    #[derive(Copy, PartialOrd, Ord)]
    pub enum FailureClass {
        Auth,
        AuthPermanent,
        Billing,
        RateLimit,
        UpstreamRateLimit,
        Overloaded,
        ServerError,
        Timeout,
        SslCertVerification,
        ContextOverflow,
        PayloadTooLarge,
        ImageTooLarge,
        ModelNotFound,
        ProviderPolicyBlocked,
        ContentPolicyBlocked,
        FormatError,
        InvalidEncryptedContent,
        MultimodalToolContentUnsupported,
        ThinkingSignature,
        LongContextTier,
        OauthLongContextBetaForbidden,
        LlamaCppGrammarPattern,
        Unknown,
    }
}

payload! {
    /// Outcome: the model call was cut off, by a person or by a restart.
    pub struct ModelCallAborted {
        pub reason: AbortReason,
        /// What had been shown; never reasoning.
        pub visible_text: String,
    }
}

payload! {
    #[derive(Copy)]
    pub enum AbortReason {
        Interrupted,
        Redirected,
        /// herm stopped while it ran; nothing of it is an answer.
        Crashed,
    }
}

payload! {
    /// Intent: a model call that is no part of the conversation is about to be made.
    pub struct AuxiliaryCallStarted {
        pub task: AuxiliaryTask,
        /// From 1; attempts at the same task, each with a key or a model of its own.
        pub attempt: u32,
        pub request_digest: Digest,
        pub estimated_tokens: u64,
        pub provider: String,
        pub model: String,
        /// Fingerprint of the key, never the key.
        pub credential: Option<String>,
        pub prices: Option<Prices>,
    }
}

payload! {
    /// What a model is asked besides the conversation.
    #[derive(Copy, PartialOrd, Ord)]
    pub enum AuxiliaryTask {
        Title,
        Compression,
        Approval,
        Vision,
        WebExtract,
        Memory,
        Review,
    }
}

impl AuxiliaryTask {
    /// Every task there is.
    pub const ALL: [Self; 7] = [
        Self::Title,
        Self::Compression,
        Self::Approval,
        Self::Vision,
        Self::WebExtract,
        Self::Memory,
        Self::Review,
    ];

    /// As settings and reports name it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Compression => "compression",
            Self::Approval => "approval",
            Self::Vision => "vision",
            Self::WebExtract => "web_extract",
            Self::Memory => "memory",
            Self::Review => "review",
        }
    }
}

payload! {
    /// Outcome of an auxiliary call.
    pub struct AuxiliaryCallFinished {
        /// Its intent.
        pub started: StreamPos,
        pub outcome: AuxiliaryOutcome,
    }
}

payload! {
    pub enum AuxiliaryOutcome {
        Answered { text: String, usage: Option<Usage>, timings: Timings },
        Failed { failure: ModelFailure },
        /// Nobody waits for it any more, or a restart came between.
        Cancelled,
    }
}

payload! {
    /// A key is left alone for a while. In the stream of the profile.
    pub struct CredentialRested {
        pub provider: String,
        /// Fingerprint of the key.
        pub credential: String,
        pub class: FailureClass,
        /// The far future for a key that only a person can mend.
        pub until: Micros,
    }
}

payload! {
    /// A person says that keys are good again. In the stream of the profile.
    pub struct CredentialReset {
        pub provider: String,
        /// Fingerprint; `None` is all of the provider.
        pub credential: Option<String>,
    }
}

payload! {
    /// A token was exchanged for a new one. In the stream of the profile.
    pub struct CredentialRefreshed {
        pub provider: String,
        /// Fingerprint of the refresh token before.
        pub before: String,
        /// Fingerprint of the refresh token now; the same where the vendor keeps it.
        pub now: String,
        pub expires_at: Option<Micros>,
    }
}
