//! What there is: models, features, tools, skills.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::server::{Api, Refusal};
use crate::config::FIRST_PROFILE;
use crate::skills::Skill;

impl Api {
    /// The name that the profile has as a model.
    pub fn model_name(&self) -> String {
        match self.profile.name.as_str() {
            FIRST_PROFILE => "herm".to_owned(),
            name => name.to_owned(),
        }
    }

    fn model(&self) -> Value {
        let created = self.hub.started_at.0 / 1_000_000;
        json!({ "id": self.model_name(), "object": "model", "created": created, "owned_by": "herm" })
    }
}

pub async fn list(State(api): State<Api>) -> Response {
    axum::Json(json!({ "object": "list", "data": [api.model()] })).into_response()
}

pub async fn one(State(api): State<Api>, Path(id): Path<String>) -> Response {
    match id == api.model_name() {
        true => axum::Json(api.model()).into_response(),
        false => Refusal::not_found("such model").into_response(),
    }
}

pub async fn capabilities(State(api): State<Api>) -> Response {
    axum::Json(json!({
        "object": "capabilities", "version": env!("CARGO_PKG_VERSION"), "profile": api.profile.name,
        "features": {
            "chat_completions": true, "responses": true, "runs": true, "streaming": true, "sessions": true,
            "approvals": true, "idempotency": true, "images": true, "tool_progress": true,
            "memory": api.profile.engine.memory.is_some(), "skills": true,
        },
        "profiles": api.hub.profiles.keys().collect::<Vec<_>>(),
    }))
    .into_response()
}

pub async fn toolsets(State(api): State<Api>) -> Response {
    let window = api.profile.rooms.policy().model.context_window_tokens;
    let offer = api.profile.engine.sessions.ports().tools.offer(super::server::platform(), window);
    let tools = offer.facts.iter().map(|facts| json!({ "name": facts.name, "judged": facts.judged }));
    axum::Json(json!({ "object": "list", "data": tools.collect::<Vec<_>>() })).into_response()
}

pub async fn skills(State(api): State<Api>) -> Response {
    let library = api.profile.engine.skills.library.clone();
    let found = tokio::task::spawn_blocking(move || library.found()).await.unwrap_or_default();
    let row = |skill: &Skill| {
        json!({
            "id": skill.name, "object": "skill", "name": skill.name, "category": skill.category,
            "description": skill.frontmatter.description,
        })
    };
    let data: Vec<Value> = found.skills.iter().map(row).collect();
    axum::Json(json!({ "object": "list", "data": data })).into_response()
}
