//! SMTP with AUTH PLAIN, which takes every mail unless it is told otherwise.

use std::io;

use base64::Engine;
use herm::platforms::contract::Fault;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::{ADDRESS, PASSWORD, Shared};

pub async fn serve(shared: &Shared, stream: TcpStream) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    writer.write_all(b"220 double.example ESMTP\r\n").await?;
    let mut line = String::new();
    while reader.read_line(&mut line).await? > 0 {
        let command = line.trim_end().to_owned();
        line.clear();
        let upper = command.to_ascii_uppercase();
        let answer = match upper.split([' ', ':']).next().unwrap_or_default() {
            "EHLO" => "250-double.example\r\n250-8BITMIME\r\n250 AUTH PLAIN LOGIN".to_owned(),
            "AUTH" => auth(shared, command.rsplit(' ').next().unwrap_or_default()),
            "MAIL" => {
                shared.state().record.requests += 1;
                "250 2.1.0 ok".to_owned()
            }
            "RCPT" => recipient(shared),
            "DATA" => {
                writer.write_all(b"354 go on\r\n").await?;
                let mail = data(&mut reader).await?;
                match taken(shared, mail).await {
                    Some(answer) => answer,
                    None => return Ok(()),
                }
            }
            "QUIT" => "221 2.0.0 bye".to_owned(),
            _ => "502 5.5.1 no such command".to_owned(),
        };
        writer.write_all(format!("{answer}\r\n").as_bytes()).await?;
    }
    Ok(())
}

fn auth(shared: &Shared, given: &str) -> String {
    let right = base64::engine::general_purpose::STANDARD.encode(format!("\0{ADDRESS}\0{PASSWORD}"));
    match given == right && !shared.state().unauthorised {
        true => "235 2.7.0 ok".to_owned(),
        false => format!("535 5.7.8 bad credentials, not {PASSWORD}"),
    }
}

fn recipient(shared: &Shared) -> String {
    let mut state = shared.state();
    if let Some(words) = state.refusal.take() {
        return words;
    }
    if state.fault == Some(Fault::ChatGone) {
        state.fault = None;
        return "550 5.1.1 user unknown".to_owned();
    }
    "250 2.1.5 ok".to_owned()
}

async fn data(reader: &mut (impl AsyncBufReadExt + Unpin)) -> io::Result<Vec<u8>> {
    let (mut mail, mut line) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match line.as_slice() {
            b".\r\n" => return Ok(mail),
            [b'.', rest @ ..] => mail.extend_from_slice(rest),
            whole => mail.extend_from_slice(whole),
        }
    }
}

/// What is answered; nothing if the connection breaks.
async fn taken(shared: &Shared, mail: Vec<u8>) -> Option<String> {
    let fault = {
        let mut state = shared.state();
        let fault = state.fault.take();
        if fault == Some(Fault::ServerError) {
            return Some("451 4.3.0 the server has failed".to_owned());
        }
        state.sent(mail);
        fault
    };
    match fault {
        Some(Fault::CutBeforeAnswer) => return None,
        Some(Fault::Delayed(time)) => tokio::time::sleep(time).await,
        _ => {}
    }
    Some("250 2.0.0 taken".to_owned())
}
