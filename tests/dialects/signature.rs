//! Amazon's fourth version of signatures, worked out anew from "Create a signed AWS API request" (IAM User
//! Guide), with nothing of what herm signs with.

use ring::{digest, hmac};

use super::support::Recorded;

/// What a request is signed with.
#[derive(Clone, Copy)]
pub struct Keys<'a> {
    pub id: &'a str,
    pub secret: &'a str,
    pub session: Option<&'a str>,
    pub region: &'a str,
}

/// Whether a request is signed with these keys, for Bedrock; what is wrong if not.
pub fn check(request: &Recorded, keys: &Keys<'_>) -> Result<(), String> {
    let header = |name: &str| request.header(name).ok_or(format!("there is no `{name}`"));
    if request.header("x-amz-security-token") != keys.session {
        return Err("the token of the session is another".into());
    }
    let time = header("x-amz-date")?;
    let day = time.get(..8).ok_or("there is no day in the time")?;
    let scope = format!("{day}/{}/bedrock/aws4_request", keys.region);
    let said = header("authorization")?;
    let named = said.split("SignedHeaders=").nth(1).and_then(|rest| rest.split(',').next());
    let named = named.ok_or("no headers are named")?;
    let required = ["host", "x-amz-date"].into_iter().chain(keys.session.map(|_| "x-amz-security-token"));
    for name in required {
        if !named.split(';').any(|signed| signed == name) {
            return Err(format!("`{name}` is not signed"));
        }
    }
    let headers: String = named
        .split(';')
        .map(|name| Ok(format!("{name}:{}\n", header(name)?.trim())))
        .collect::<Result<_, String>>()?;
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    // The path as it was sent is encoded once more, everywhere but for S3.
    let path: Vec<String> = path.split('/').map(encoded).collect();
    let asked = [
        &request.method,
        &path.join("/"),
        query,
        &headers,
        named,
        &hex(digest::digest(&digest::SHA256, request.body.as_bytes()).as_ref()),
    ]
    .join("\n");
    let asked = hex(digest::digest(&digest::SHA256, asked.as_bytes()).as_ref());
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{asked}");
    let mut key = format!("AWS4{}", keys.secret).into_bytes();
    for part in [day, keys.region, "bedrock", "aws4_request", &text] {
        key = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), part.as_bytes()).as_ref().to_vec();
    }
    let expected = format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={named}, Signature={}",
        keys.id,
        hex(&key)
    );
    if said == expected { Ok(()) } else { Err(format!("expected `{expected}`, found `{said}`")) }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn encoded(part: &str) -> String {
    let keeps = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    part.bytes()
        .map(|byte| if keeps(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
