//! PURE: the list of models.

use serde_json::Value;

use crate::providers::dialects::ListedModel;

/// `{"models":[{"name":"models/…","inputTokenLimit",…}]}`; models that cannot chat are left out.
pub(super) fn read(list: &Value) -> Option<Vec<ListedModel>> {
    let list = list.get("models")?.as_array()?;
    Some(list.iter().filter(|model| generates(model)).filter_map(model).collect())
}

fn generates(model: &Value) -> bool {
    let methods = model.get("supportedGenerationMethods").and_then(Value::as_array);
    methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"))
}

fn model(model: &Value) -> Option<ListedModel> {
    let tokens = |name: &str| model.get(name)?.as_u64().and_then(|tokens| u32::try_from(tokens).ok());
    let name = model.get("name")?.as_str()?;
    Some(ListedModel {
        name: name.strip_prefix("models/").unwrap_or(name).to_owned(),
        context_window_tokens: tokens("inputTokenLimit"),
        output_tokens_max: tokens("outputTokenLimit"),
        images: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_chat_are_listed_with_their_limits() {
        let list = serde_json::json!({"models":[
            {"name":"models/gemini-2.5-flash","inputTokenLimit":1048576,"outputTokenLimit":65536,
             "supportedGenerationMethods":["generateContent","countTokens"]},
            {"name":"models/text-embedding-004","supportedGenerationMethods":["embedContent"]}]});
        let found = read(&list).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].name, "gemini-2.5-flash");
        assert_eq!(
            (found[0].context_window_tokens, found[0].output_tokens_max),
            (Some(1_048_576), Some(65_536))
        );
        assert_eq!(read(&serde_json::json!({"data":[]})), None);
    }
}
