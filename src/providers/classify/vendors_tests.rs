//! What vendors document that they say, and what it is taken for.

use herm_schema::events::FailureClass as C;

use super::*;

#[test]
fn vendors_documented_failures_are_told_apart() {
    let header =
        ("x-amzn-errortype".to_owned(), "ThrottlingException:http://internal.amazon.com/".to_owned());
    let throttled = response(
        429,
        &[header],
        r#"{"message":"Too many requests, please wait before trying again."}"#,
        Micros(0),
    );
    assert_eq!(throttled.class, C::RateLimit);
    let mut wrong = Vec::new();
    for (vendor, status, body, class) in [
        (
            "openai",
            401,
            r#"{"error":{"message":"Incorrect API key provided: sk-x","type":"invalid_request_error","code":"invalid_api_key"}}"#,
            C::Auth,
        ),
        (
            "openai",
            429,
            r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            C::Billing,
        ),
        (
            "openai",
            429,
            r#"{"error":{"message":"Rate limit reached for gpt-5 in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.","type":"tokens","code":"rate_limit_exceeded"}}"#,
            C::RateLimit,
        ),
        (
            "openai",
            404,
            r#"{"error":{"message":"The model `gpt-9` does not exist or you do not have access to it.","type":"invalid_request_error","code":"model_not_found"}}"#,
            C::ModelNotFound,
        ),
        (
            "openai",
            400,
            r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","code":"unsupported_parameter"}}"#,
            C::FormatError,
        ),
        (
            "openai",
            400,
            r#"{"error":{"message":"Unknown parameter: 'context_window'.","type":"invalid_request_error","code":"unknown_parameter"}}"#,
            C::FormatError,
        ),
        (
            "openai",
            400,
            r#"{"error":{"message":"Item 'rs_1' of type 'reasoning' was provided without its required following item.","type":"invalid_request_error"}}"#,
            C::InvalidEncryptedContent,
        ),
        (
            "openai",
            403,
            r#"{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported"}}"#,
            C::ProviderPolicyBlocked,
        ),
        (
            "openai",
            400,
            r#"{"error":{"code":"invalid_prompt","message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy."}}"#,
            C::ContentPolicyBlocked,
        ),
        (
            "openai",
            503,
            r#"{"error":{"message":"The engine is currently overloaded, please try again later","type":"server_error"}}"#,
            C::Overloaded,
        ),
        (
            "codex",
            429,
            r#"{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus","resets_in_seconds":1200}}"#,
            C::RateLimit,
        ),
        (
            "anthropic",
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing."}}"#,
            C::Billing,
        ),
        (
            "anthropic",
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}}"#,
            C::Billing,
        ),
        (
            "anthropic",
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}"#,
            C::ModelNotFound,
        ),
        (
            "anthropic",
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            C::PayloadTooLarge,
        ),
        (
            "anthropic",
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."}}"#,
            C::ThinkingSignature,
        ),
        (
            "anthropic",
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude"}}"#,
            C::FormatError,
        ),
        (
            "anthropic",
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 9 > 5"}}"#,
            C::ImageTooLarge,
        ),
        (
            "anthropic",
            403,
            r#"{"type":"error","error":{"type":"permission_error","message":"Your API key does not have permission to use the specified resource."}}"#,
            C::Auth,
        ),
        (
            "anthropic",
            403,
            r#"{"type":"error","error":{"type":"permission_error","message":"API key USD spend limit exceeded"}}"#,
            C::Billing,
        ),
        (
            "anthropic",
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"This organization has been disabled."}}"#,
            C::AuthPermanent,
        ),
        (
            "gemini",
            400,
            r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]"#,
            C::Auth,
        ),
        (
            "gemini",
            429,
            r#"{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. Please retry in 34.07s.","status":"RESOURCE_EXHAUSTED"}}"#,
            C::RateLimit,
        ),
        (
            "gemini",
            400,
            r#"{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}"#,
            C::ProviderPolicyBlocked,
        ),
        (
            "gemini",
            400,
            r#"{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts.","status":"INVALID_ARGUMENT"}}"#,
            C::ThinkingSignature,
        ),
        (
            "gemini",
            400,
            r#"{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"additionalProperties\" at 'tools[0]'","status":"INVALID_ARGUMENT"}}"#,
            C::FormatError,
        ),
        (
            "gemini",
            503,
            r#"{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}"#,
            C::Overloaded,
        ),
        (
            "gemini",
            404,
            r#"{"error":{"code":404,"message":"models/gemini-x is not found for API version v1beta","status":"NOT_FOUND"}}"#,
            C::ModelNotFound,
        ),
        (
            "bedrock",
            400,
            r#"{"__type":"com.amazon.coral.validate#ValidationException","message":"Input is too long for requested model."}"#,
            C::ContextOverflow,
        ),
        (
            "bedrock",
            403,
            r#"{"__type":"AccessDeniedException","message":"You don't have access to the model with the specified model ID."}"#,
            C::ModelNotFound,
        ),
        (
            "bedrock",
            403,
            r#"{"__type":"UnrecognizedClientException","message":"The security token included in the request is invalid."}"#,
            C::Auth,
        ),
        ("bedrock", 424, r#"{"__type":"ModelErrorException","message":"failed"}"#, C::ServerError),
        (
            "openrouter",
            402,
            r#"{"error":{"code":402,"message":"Insufficient credits. Add more using https://openrouter.ai/settings/credits"}}"#,
            C::Billing,
        ),
        (
            "openrouter",
            403,
            r#"{"error":{"code":403,"message":"Key limit exceeded (total limit)"}}"#,
            C::Billing,
        ),
        (
            "openrouter",
            429,
            r#"{"error":{"code":429,"message":"Provider returned error","metadata":{"raw":"x is temporarily rate-limited upstream. Please retry shortly","provider_name":"X"}}}"#,
            C::UpstreamRateLimit,
        ),
        (
            "openrouter",
            429,
            r#"{"error":{"code":429,"message":"Rate limit exceeded: free-models-per-day"}}"#,
            C::RateLimit,
        ),
        (
            "openrouter",
            404,
            r#"{"error":{"code":404,"message":"No endpoints found that support tool use."}}"#,
            C::ModelNotFound,
        ),
        (
            "openrouter",
            404,
            r#"{"error":{"code":404,"message":"No endpoints available matching your guardrail restrictions and data policy."}}"#,
            C::ProviderPolicyBlocked,
        ),
        (
            "deepseek",
            402,
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}"#,
            C::Billing,
        ),
        (
            "deepseek",
            401,
            r#"{"error":{"message":"Authentication Fails","type":"authentication_error","code":"invalid_request_error"}}"#,
            C::Auth,
        ),
        (
            "groq",
            413,
            r#"{"error":{"message":"Request too large for model on tokens per minute (TPM): Limit 6000, Requested 9000","type":"tokens","code":"rate_limit_exceeded"}}"#,
            C::PayloadTooLarge,
        ),
        (
            "groq",
            400,
            r#"{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed"}}"#,
            C::ServerError,
        ),
        (
            "groq",
            400,
            r#"{"error":{"message":"The model `x` has been decommissioned and is no longer supported.","code":"model_decommissioned"}}"#,
            C::ModelNotFound,
        ),
        ("groq", 498, "", C::Overloaded),
        (
            "mistral",
            429,
            r#"{"object":"error","message":"Requests rate limit exceeded","type":"rate_limited","param":null,"code":"1300"}"#,
            C::RateLimit,
        ),
        (
            "mistral",
            429,
            r#"{"object":"error","message":"Service tier capacity exceeded for this model.","type":"service_tier_capacity_exceeded","code":"3505"}"#,
            C::Overloaded,
        ),
        (
            "mistral",
            400,
            r#"{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","code":"3051"}"#,
            C::ContextOverflow,
        ),
        (
            "mistral",
            400,
            r#"{"object":"error","message":"Expected last role User or Tool but got assistant","type":"invalid_request_message_order","code":"3230"}"#,
            C::FormatError,
        ),
        (
            "mistral",
            400,
            r#"{"object":"error","message":"Invalid model: x","type":"invalid_model","code":"1500"}"#,
            C::ModelNotFound,
        ),
        (
            "xai",
            400,
            r#"{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***. You can obtain an API key from https://console.x.ai."}"#,
            C::Auth,
        ),
        (
            "xai",
            403,
            r#"{"code":"The caller does not have permission to execute the specified operation","error":"Your team has either used all available credits or reached its monthly spending limit."}"#,
            C::Billing,
        ),
        (
            "azure",
            404,
            r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}"#,
            C::ModelNotFound,
        ),
        (
            "azure",
            429,
            r#"{"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation have exceeded token rate limit of your current pricing tier. Please retry after 12 seconds."}}"#,
            C::RateLimit,
        ),
        (
            "azure",
            400,
            r#"{"error":{"code":"content_filter","message":"The response was filtered","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
            C::ContentPolicyBlocked,
        ),
        (
            "azure",
            401,
            r#"{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint."}}"#,
            C::Auth,
        ),
        (
            "moonshot",
            429,
            r#"{"error":{"type":"exceeded_current_quota_error","message":"Your account is suspended, please check your plan and billing details"}}"#,
            C::Billing,
        ),
        (
            "moonshot",
            429,
            r#"{"error":{"type":"rate_limit_reached_error","message":"Your account reached max request"}}"#,
            C::RateLimit,
        ),
        (
            "moonshot",
            429,
            r#"{"error":{"type":"engine_overloaded_error","message":"The engine is currently overloaded"}}"#,
            C::Overloaded,
        ),
        (
            "moonshot",
            400,
            r#"{"error":{"type":"invalid_request_error","message":"Invalid request: Your request exceeded model token limit: 262144"}}"#,
            C::ContextOverflow,
        ),
        (
            "zhipu",
            429,
            r#"{"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}}"#,
            C::Billing,
        ),
        (
            "zhipu",
            429,
            r#"{"error":{"code":"1302","message":"High concurrency usage of this API"}}"#,
            C::RateLimit,
        ),
        (
            "zhipu",
            429,
            r#"{"error":{"code":"1308","message":"Usage limit reached for 5 hour. Your limit will reset at 2026-12-01 10:00:00"}}"#,
            C::RateLimit,
        ),
        (
            "zhipu",
            400,
            r#"{"error":{"code":"1261","message":"Prompt exceeds max length"}}"#,
            C::ContextOverflow,
        ),
        (
            "zhipu",
            400,
            r#"{"error":{"code":"1211","message":"Unknown Model, please check the model code."}}"#,
            C::ModelNotFound,
        ),
        (
            "minimax",
            200,
            r#"{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}"#,
            C::Billing,
        ),
        ("minimax", 200, r#"{"base_resp":{"status_code":1002,"status_msg":"rate limit"}}"#, C::RateLimit),
        ("minimax", 200, r#"{"base_resp":{"status_code":1004,"status_msg":"login fail"}}"#, C::Auth),
        (
            "dashscope",
            400,
            r#"{"error":{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing."}}"#,
            C::Billing,
        ),
        (
            "dashscope",
            400,
            r#"{"error":{"code":"InvalidParameter","message":"Range of input length should be [1, 30720]"}}"#,
            C::ContextOverflow,
        ),
        ("ollama", 404, r#"{"error":"model 'x' not found"}"#, C::ModelNotFound),
        (
            "ollama",
            400,
            r#"{"error":"registry.ollama.ai/library/x does not support tools"}"#,
            C::ModelNotFound,
        ),
        (
            "lmstudio",
            400,
            r#"{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}"#,
            C::ContextOverflow,
        ),
        (
            "lmstudio",
            404,
            r#"{"error":{"message":"No models loaded. Please load a model in the developer page.","type":"invalid_request_error"}}"#,
            C::ModelNotFound,
        ),
        (
            "vllm",
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","code":400}"#,
            C::ContextOverflow,
        ),
        (
            "vllm",
            404,
            r#"{"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","code":404}"#,
            C::ModelNotFound,
        ),
        (
            "llamacpp",
            503,
            r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
            C::Overloaded,
        ),
        (
            "llamacpp",
            400,
            r#"{"error":{"code":400,"message":"Pattern must start with '^' and end with '$'","type":"invalid_request_error"}}"#,
            C::LlamaCppGrammarPattern,
        ),
        (
            "cerebras",
            429,
            r#"{"message":"Tokens per minute limit exceeded - too many tokens processed.","type":"too_many_tokens_error","param":"quota","code":"token_quota_exceeded"}"#,
            C::RateLimit,
        ),
        (
            "cohere",
            429,
            r#"{"message":"You are using a Trial key, which is limited to 10 API calls / minute."}"#,
            C::RateLimit,
        ),
        (
            "huggingface",
            402,
            r#"{"error":"You have exceeded your monthly included credits for Inference Providers."}"#,
            C::Billing,
        ),
        (
            "fireworks",
            412,
            r#"{"error":{"message":"Account x is suspended, possibly due to reaching the monthly spending limit"}}"#,
            C::Billing,
        ),
        (
            "cloudflare",
            403,
            "<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>",
            C::ServerError,
        ),
        ("cloudflare", 524, "<html><title>A timeout occurred</title></html>", C::Timeout),
        ("github", 403, r#"{"message":"You have exceeded a secondary rate limit."}"#, C::RateLimit),
        (
            "openai",
            401,
            r#"{"error":{"message":"You didn't provide a key.","type":"invalid_request_error","code":null}}"#,
            C::Auth,
        ),
    ] {
        let found = response(status, &[], body, Micros(0)).class;
        if found != class {
            wrong.push(format!("{vendor} {status} {body}: {found:?}, not {class:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
