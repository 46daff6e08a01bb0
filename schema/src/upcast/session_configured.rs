//! Version 1 of `SessionConfigured` knew one model with one key, no limit of spending and no titles;
//! version 2 knew no scene, version 3 began a turn at once.

use serde::{Deserialize, Serialize};

use super::step;
use crate::CodecError;
use crate::events::*;

#[derive(Deserialize)]
struct V1 {
    policy: PolicyV1,
}

#[derive(Deserialize)]
struct PolicyV1 {
    model: ModelChoiceV1,
    limits: Limits,
    compression: CompressionPolicy,
    guardrails: GuardrailPolicy,
    busy: BusyPolicy,
    approvals: ApprovalMode,
    delivery: DeliveryPolicy,
    reducer_version: u32,
}

#[derive(Deserialize)]
struct ModelChoiceV1 {
    provider: String,
    model: String,
    dialect: String,
    base_url: String,
    credential: Option<String>,
    context_window_tokens: u32,
    output_tokens_max: u32,
    stream: bool,
}

#[derive(Serialize, Deserialize)]
struct V2 {
    policy: PolicyV2,
}

#[derive(Serialize, Deserialize)]
struct PolicyV2 {
    model: ModelChoice,
    fallbacks: Vec<ModelChoice>,
    limits: Limits,
    spending: SpendingPolicy,
    titles: bool,
    compression: CompressionPolicy,
    guardrails: GuardrailPolicy,
    busy: BusyPolicy,
    approvals: ApprovalMode,
    delivery: DeliveryPolicy,
    reducer_version: u32,
}

#[derive(Serialize, Deserialize)]
struct V3 {
    policy: PolicyV3,
}

#[derive(Serialize, Deserialize)]
struct PolicyV3 {
    model: ModelChoice,
    fallbacks: Vec<ModelChoice>,
    limits: Limits,
    spending: SpendingPolicy,
    titles: bool,
    compression: CompressionPolicy,
    guardrails: GuardrailPolicy,
    busy: BusyPolicy,
    approvals: ApprovalMode,
    scene: Scene,
    delivery: DeliveryPolicy,
    reducer_version: u32,
}

pub(super) fn from_1(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    step(bytes, |old: V1| V2 { policy: second(old.policy) })
}

pub(super) fn from_2(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    step(bytes, |V2 { policy: old }| V3 {
        policy: PolicyV3 {
            model: old.model,
            fallbacks: old.fallbacks,
            limits: old.limits,
            spending: old.spending,
            titles: old.titles,
            compression: old.compression,
            guardrails: old.guardrails,
            busy: old.busy,
            approvals: old.approvals,
            scene: Scene::Terminal,
            delivery: old.delivery,
            reducer_version: old.reducer_version,
        },
    })
}

pub(super) fn from_3(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    step(bytes, |V3 { policy: old }| SessionConfigured {
        policy: Policy {
            model: old.model,
            fallbacks: old.fallbacks,
            limits: old.limits,
            spending: old.spending,
            titles: old.titles,
            compression: old.compression,
            guardrails: old.guardrails,
            busy: old.busy,
            debounce_us: 0,
            chosen: Vec::new(),
            approvals: old.approvals,
            scene: old.scene,
            delivery: old.delivery,
            reducer_version: old.reducer_version,
        },
    })
}

fn second(old: PolicyV1) -> PolicyV2 {
    PolicyV2 {
        model: model(old.model),
        fallbacks: Vec::new(),
        limits: old.limits,
        spending: SpendingPolicy::default(),
        titles: false,
        compression: old.compression,
        guardrails: old.guardrails,
        busy: old.busy,
        approvals: old.approvals,
        delivery: old.delivery,
        reducer_version: old.reducer_version,
    }
}

fn model(old: ModelChoiceV1) -> ModelChoice {
    ModelChoice {
        provider: old.provider,
        model: old.model,
        dialect: old.dialect,
        base_url: old.base_url,
        credentials: old.credential.into_iter().collect(),
        context_window_tokens: old.context_window_tokens,
        output_tokens_max: old.output_tokens_max,
        stream: old.stream,
        effort: None,
        cache_ttl: CacheTtl::FiveMinutes,
        images: false,
        prices: None,
    }
}
