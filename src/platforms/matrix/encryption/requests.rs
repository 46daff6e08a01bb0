//! What the state machine of the encryption wants to say to the homeserver, and what it is told by it.
//!
//! Source: "Matrix Specification", spec.matrix.org/v1.11/client-server-api, "End-to-End Encryption".

use std::borrow::Cow;
use std::collections::BTreeMap;

use matrix_sdk_crypto::types::requests::{AnyOutgoingRequest, KeysQueryRequest, ToDeviceRequest};
use matrix_sdk_crypto::{EncryptionSyncChanges, OlmMachine};
use reqwest::Method;
use ruma::api::auth_scheme::{AccessToken, SendAccessToken};
use ruma::api::client::sync::sync_events::DeviceLists;
use ruma::api::client::to_device::send_event_to_device::v3 as to_device;
use ruma::api::path_builder::VersionHistory;
use ruma::api::{IncomingResponse, MatrixVersion, OutgoingRequest, SupportedVersions};
use ruma::events::AnyToDeviceEvent;
use ruma::serde::Raw;
use ruma::{OneTimeKeyAlgorithm, TransactionId, UInt};
use serde_json::{Value, json};

use super::super::api::{Api, CALL_MAX, Call, Failed};
use super::super::wire::Sync;
use super::{TRUST, unsealed};

/// Rounds of questions that follow from each other; more would be a fault of somebody's.
const ROUNDS_MAX: usize = 8;

/// Takes what a sync says of keys; the rooms that keys have come for.
pub(super) async fn news(machine: &OlmMachine, news: &Sync) -> Result<Vec<String>, Failed> {
    let read = |value: &Value| serde_json::from_value::<DeviceLists>(value.clone()).unwrap_or_default();
    let changed = read(&news.device_lists);
    let counts: BTreeMap<OneTimeKeyAlgorithm, UInt> =
        serde_json::from_value(news.device_one_time_keys_count.clone()).unwrap_or_default();
    let fallbacks = news.device_unused_fallback_key_types.as_ref();
    let fallbacks =
        fallbacks.and_then(|kinds| serde_json::from_value::<Vec<OneTimeKeyAlgorithm>>(kinds.clone()).ok());
    let events = news.to_device.events.iter().filter_map(raw::<AnyToDeviceEvent>).collect();
    let changes = EncryptionSyncChanges {
        to_device_events: events,
        changed_devices: &changed,
        one_time_keys_counts: &counts,
        unused_fallback_keys: fallbacks.as_deref(),
        next_batch_token: Some(news.next_batch.clone()),
    };
    let (_, keys) = Box::pin(machine.receive_sync_changes(changes, &TRUST)).await.map_err(unsealed)?;
    Ok(keys.into_iter().map(|key| key.room_id.to_string()).collect())
}

pub(super) fn raw<T>(value: &Value) -> Option<Raw<T>> {
    Some(Raw::from_json(serde_json::value::to_raw_value(value).ok()?))
}

/// Sends what the machine wants to have sent, until it wants nothing.
pub(super) async fn answer_owed(machine: &OlmMachine, api: &Api) -> Result<(), Failed> {
    for _ in 0..ROUNDS_MAX {
        let owed = machine.outgoing_requests().await.map_err(unsealed)?;
        if owed.is_empty() {
            break;
        }
        for request in owed {
            Box::pin(answer(machine, api, request.request_id(), request.request())).await?;
        }
    }
    Ok(())
}

async fn answer(
    machine: &OlmMachine,
    api: &Api,
    id: &TransactionId,
    request: &AnyOutgoingRequest,
) -> Result<(), Failed> {
    let marked = match request {
        AnyOutgoingRequest::KeysUpload(upload) => {
            let response = post(api, &["keys", "upload"], upload.clone()).await?;
            machine.mark_request_as_sent(id, &response).await
        }
        AnyOutgoingRequest::KeysQuery(query) => return ask_keys(machine, api, id, query).await,
        AnyOutgoingRequest::KeysClaim(claim) => {
            let response = post(api, &["keys", "claim"], claim.clone()).await?;
            machine.mark_request_as_sent(id, &response).await
        }
        AnyOutgoingRequest::ToDeviceRequest(request) => return hand_over(machine, api, request).await,
        AnyOutgoingRequest::SignatureUpload(upload) => {
            let response = post(api, &["keys", "signatures", "upload"], upload.clone()).await?;
            machine.mark_request_as_sent(id, &response).await
        }
        // Steps of a verification between people; herm begins none and answers none.
        AnyOutgoingRequest::RoomMessage(_) => Ok(()),
    };
    marked.map_err(unsealed)
}

async fn ask_keys(
    machine: &OlmMachine,
    api: &Api,
    id: &TransactionId,
    query: &KeysQueryRequest,
) -> Result<(), Failed> {
    use ruma::api::client::keys::get_keys::v3::Response;
    let bytes = put(api, Method::POST, &["keys", "query"], json!({"device_keys": query.device_keys})).await?;
    let response: Response = read(bytes)?;
    machine.mark_request_as_sent(id, &response).await.map_err(unsealed)
}

/// Asks for one-time keys of devices that herm has never talked with.
pub(super) async fn claim(
    machine: &OlmMachine,
    api: &Api,
    members: &[ruma::OwnedUserId],
) -> Result<(), Failed> {
    let users = members.iter().map(AsRef::as_ref);
    let Some((id, claim)) = machine.get_missing_sessions(users).await.map_err(unsealed)? else {
        return Ok(());
    };
    let response = post(api, &["keys", "claim"], claim).await?;
    machine.mark_request_as_sent(&id, &response).await.map_err(unsealed)
}

/// Sends something to devices, such as the key of a room.
pub(super) async fn hand_over(
    machine: &OlmMachine,
    api: &Api,
    request: &ToDeviceRequest,
) -> Result<(), Failed> {
    let (kind, id) = (request.event_type.to_string(), request.txn_id.as_str());
    put(api, Method::PUT, &["sendToDevice", &kind, id], json!({"messages": request.messages})).await?;
    machine.mark_request_as_sent(&request.txn_id, &to_device::Response::new()).await.map_err(unsealed)
}

/// Whether the homeserver has other keys for this device than these: it is another program's then.
pub(super) async fn is_anothers(machine: &OlmMachine, api: &Api) -> Result<bool, Failed> {
    let (user, device) = (machine.user_id().as_str(), machine.device_id().as_str());
    let body = json!({"device_keys": {user: [device]}});
    let bytes = put(api, Method::POST, &["keys", "query"], body).await?;
    let told: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let keys = told.get("device_keys").and_then(|users| users.get(user)?.get(device)?.get("keys"));
    let key = keys.and_then(|keys| keys.get(format!("ed25519:{device}"))).and_then(Value::as_str);
    Ok(key.is_some_and(|key| key != machine.identity_keys().ed25519.to_base64()))
}

/// Signs this device in the name of its account, so that people's clients do not warn of it. An account
/// that was signed for by another client keeps that; its owner can verify herm's device there.
pub(super) async fn sign_device(machine: &OlmMachine, api: &Api) -> Result<(), Failed> {
    let user = machine.user_id();
    let (id, query) = machine.query_keys_for_users([user]);
    ask_keys(machine, api, &id, &query).await?;
    let owned = machine.cross_signing_status().await;
    let known = machine.get_identity(user, None).await.map_err(unsealed)?;
    let is_signed = match machine.get_device(user, machine.device_id(), None).await {
        Ok(device) => device.is_some_and(|device| device.is_cross_signed_by_owner()),
        Err(error) => return Err(unsealed(error)),
    };
    if is_signed || (known.is_some() && !owned.has_master) {
        return Ok(());
    }
    let wanted = machine.bootstrap_cross_signing(false).await.map_err(unsealed)?;
    if let Some(upload) = &wanted.upload_keys_req {
        Box::pin(answer(machine, api, upload.request_id(), upload.request())).await?;
    }
    let keys = &wanted.upload_signing_keys_req;
    let body = json!({
        "master_key": keys.master_key, "self_signing_key": keys.self_signing_key,
        "user_signing_key": keys.user_signing_key,
    });
    match put(api, Method::POST, &["keys", "device_signing", "upload"], body).await {
        Ok(_) => {}
        // It wants the account's password, which herm does not have.
        Err(Failed::Refused { code: 401, .. }) => {
            tracing::info!("the homeserver lets herm sign no device; clients may call it unverified");
            return Ok(());
        }
        Err(failed) => return Err(failed),
    }
    let signatures = post(api, &["keys", "signatures", "upload"], wanted.upload_signatures_req).await;
    if let Err(failed) = signatures {
        tracing::warn!(?failed, "herm's device could not be signed");
    }
    Ok(())
}

/// Posts a request in the words of `ruma`; its answer.
async fn post<R>(api: &Api, path: &[&str], request: R) -> Result<R::IncomingResponse, Failed>
where
    R: OutgoingRequest<Authentication = AccessToken, PathBuilder = VersionHistory>,
{
    let versions =
        SupportedVersions { versions: [MatrixVersion::V1_11].into(), features: Default::default() };
    // Only its body is of use: `Api` knows the server and the token.
    let made: http::Request<Vec<u8>> = request
        .try_into_http_request("http://server", SendAccessToken::IfRequired("-"), Cow::Owned(versions))
        .map_err(unsealed)?;
    let body = serde_json::from_slice(made.body()).map_err(unsealed)?;
    read(put(api, Method::POST, path, body).await?)
}

fn read<R: IncomingResponse>(bytes: Vec<u8>) -> Result<R, Failed> {
    R::try_from_http_response(http::Response::new(bytes))
        .map_err(|error| Failed::Unanswered(format!("an answer about keys that cannot be read: {error}")))
}

async fn put(api: &Api, method: Method, path: &[&str], body: Value) -> Result<Vec<u8>, Failed> {
    let path: Vec<&str> = ["client", "v3"].iter().chain(path).copied().collect();
    api.bytes(Call { method, path: &path, query: &[], body: Some(body), time_max: CALL_MAX }).await
}
