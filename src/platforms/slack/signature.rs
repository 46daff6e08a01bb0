//! PURE: whether Slack posted a request.
//!
//! Source: docs.slack.dev, "Verifying requests from Slack", version `v0`: an HMAC-SHA256 over
//! `v0:TIMESTAMP:BODY` with the signing secret, in hexadecimal; older than five minutes is a replay.

use ring::hmac;

use crate::config::Secret;
use crate::platforms::Ingress;

const TIMESTAMP: &str = "x-slack-request-timestamp";
const SIGNATURE: &str = "x-slack-signature";
const VERSION: &str = "v0";
/// How far its clock may be from ours, in seconds.
const WINDOW_S: i64 = 300;

/// Whether the request is Slack's, `now` in seconds since 1970.
pub(super) fn is_slacks(request: &Ingress, secret: &Secret, now: i64) -> bool {
    let Some(timestamp) = request.header(TIMESTAMP) else { return false };
    let is_fresh = timestamp.parse::<i64>().is_ok_and(|at| now.abs_diff(at) <= WINDOW_S.unsigned_abs());
    let signature = request.header(SIGNATURE).and_then(|text| text.strip_prefix(VERSION)?.strip_prefix('='));
    let Some(signature) = signature.and_then(bytes).filter(|_| is_fresh) else { return false };
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.reveal().as_bytes());
    let mut signed = format!("{VERSION}:{timestamp}:").into_bytes();
    signed.extend_from_slice(&request.body);
    hmac::verify(&key, &signed, &signature).is_ok()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = hex.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of "Verifying requests from Slack".
    const BODY: &str = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=\
        G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&\
        response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN\
        &trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";
    const AT: i64 = 1_531_420_618;
    const SIGNED: &str = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";

    fn request(timestamp: &str, signature: &str, body: &str) -> Ingress {
        let headers = [("X-Slack-Request-Timestamp", timestamp), ("X-Slack-Signature", signature)];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Ingress { headers, body: body.into(), ..Ingress::default() }
    }

    #[test]
    fn only_what_slack_signed_lately_is_slacks() {
        let (secret, at) = (Secret::new(SECRET), AT.to_string());
        let right = request(&at, SIGNED, BODY);
        for now in [AT, AT + 299, AT - 299] {
            assert!(is_slacks(&right, &secret, now));
        }
        for now in [AT + 301, AT - 301, 0] {
            assert!(!is_slacks(&right, &secret, now), "{now}");
        }
        assert!(!is_slacks(&right, &Secret::new("another"), AT));
        for wrong in [
            request(&at, SIGNED, "another body"),
            request(&(AT + 1).to_string(), SIGNED, BODY),
            request(&at, "v0=", BODY),
            request(&at, "v0=a2", BODY),
            request(&at, SIGNED.trim_start_matches("v0="), BODY),
            request(&at, "v0=zz", BODY),
            request("soon", SIGNED, BODY),
            Ingress::default(),
        ] {
            assert!(!is_slacks(&wrong, &secret, AT), "{wrong:?}");
        }
    }
}
