//! PURE: lists of models as OpenAI and everyone who copied it give them.

use serde_json::Value;

use super::ListedModel;

/// Where servers say how large a context window is.
const WINDOWS: [&str; 6] = [
    "/context_length",
    "/context_window",
    "/max_model_len",
    "/max_context_length",
    "/meta/n_ctx",
    "/top_provider/context_length",
];
/// Where they say how long an answer may be.
const OUTPUTS: [&str; 3] =
    ["/max_output_tokens", "/max_completion_tokens", "/top_provider/max_completion_tokens"];

/// `{"data":[{"id",…}]}`, `{"models":[…]}` or a bare list.
pub(super) fn of_openai(value: &Value) -> Option<Vec<ListedModel>> {
    let list = value.get("data").or_else(|| value.get("models")).unwrap_or(value).as_array()?;
    Some(list.iter().filter_map(model).collect())
}

fn model(model: &Value) -> Option<ListedModel> {
    let tokens = |paths: &[&str]| {
        let found = paths.iter().find_map(|path| model.pointer(path)?.as_u64());
        found.and_then(|tokens| u32::try_from(tokens).ok())
    };
    let inputs = model.pointer("/architecture/input_modalities").and_then(Value::as_array);
    Some(ListedModel {
        name: model.get("id").or_else(|| model.get("name"))?.as_str()?.to_owned(),
        context_window_tokens: tokens(&WINDOWS),
        output_tokens_max: tokens(&OUTPUTS),
        images: inputs.map(|inputs| inputs.iter().any(|input| input == "image")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_models_are_read_in_their_shapes() {
        let value = serde_json::json!({"object":"list","data":[
            {"id":"a","max_model_len":4096},{"id":"b","meta":{"n_ctx":2048}},{"id":"c"},{"x":1}]});
        let found: Vec<_> =
            of_openai(&value).unwrap().into_iter().map(|m| (m.name, m.context_window_tokens)).collect();
        assert_eq!(found, [("a".into(), Some(4096)), ("b".into(), Some(2048)), ("c".into(), None)]);
        assert_eq!(of_openai(&serde_json::json!({"hello": 1})), None);
    }

    #[test]
    fn what_a_gateway_tells_of_a_model_is_taken() {
        let value = serde_json::json!([{"id":"a","context_length":8,"top_provider":{"max_completion_tokens":4},
            "architecture":{"input_modalities":["text","image"]}}]);
        let expected = ListedModel {
            name: "a".into(),
            context_window_tokens: Some(8),
            output_tokens_max: Some(4),
            images: Some(true),
        };
        assert_eq!(of_openai(&value), Some(vec![expected]));
    }
}
