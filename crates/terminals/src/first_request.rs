//! The first bytes of a forwarded connection: which request a browser sends to which name.
//!
//! A browser sends the cookies of all programs at `127.0.0.1` to each port there. It also lets a page leave a worker for
//! the next program at the page's port. So a browser reaches the servers of a Thread only at the Thread's own name. Other
//! programs have no such memory, and other protocols no such names: they pass. One connection of a browser has requests to
//! one name, so the first request decides. At most [`MAX_HEAD`] bytes of a request and [`MAX_ANSWER`] of an early answer
//! wait here.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Longest head of a request: four times what common servers take.
const MAX_HEAD: usize = 32 << 10;
/// Most bytes of an answer that comes before its request.
const MAX_ANSWER: usize = 4 << 10;
/// Bytes before `HTTP` that browsers skip in an answer.
const MAX_SKIPPED: usize = 4;

/// How a connection continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// More bytes decide.
    Undecided,
    Relay,
    /// A browser's request to another name than the forward's, or a head that is too long to read.
    Refuse,
}

/// Relays the bytes of both sides until the first request is judged. Returns whether the connection goes on; a refused one
/// already has its answer.
///
/// # Errors
/// Either side cannot be read or written.
pub(crate) async fn admit<N, F>(near: &mut N, far: &mut F, authority: &str) -> io::Result<bool>
where
    N: AsyncRead + AsyncWrite + Unpin,
    F: AsyncRead + AsyncWrite + Unpin,
{
    let (mut request, mut answer) = (Vec::new(), Vec::new());
    let (mut may_answer, mut has_greeted) = (true, false);
    let verdict = loop {
        tokio::select! {
            read = near.read_buf(&mut request) => match read? {
                0 => break Verdict::Relay,
                _ => match judge(&request, authority) {
                    Verdict::Undecided => {}
                    verdict => break verdict,
                },
            },
            // In many protocols the server speaks first. A browser would take an answer that came before its request.
            read = far.read_buf(&mut answer), if may_answer => {
                let has_ended = read? == 0;
                has_greeted |= is_greeting(&answer);
                if has_greeted {
                    near.write_all(&answer).await?;
                    answer.clear();
                }
                if has_ended && answer.is_empty() {
                    near.shutdown().await?;
                }
                may_answer = !has_ended && answer.len() < MAX_ANSWER;
            },
        }
    };
    if verdict == Verdict::Refuse {
        if !has_greeted {
            near.write_all(refusal(authority).as_bytes()).await?;
        }
        near.shutdown().await?;
        return Ok(false);
    }
    near.write_all(&answer).await?;
    far.write_all(&request).await?;
    Ok(true)
}

/// Judges the bytes of a client so far, at the forward with this name and port.
fn judge(bytes: &[u8], authority: &str) -> Verdict {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let method = bytes.iter().take_while(|byte| is_letter(byte)).count();
    if bytes.get(method).is_some_and(|byte| method == 0 || *byte != b' ') {
        return Verdict::Relay;
    }
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let mut line = || {
        let line = lines.next()?.strip_suffix(b"\n")?;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    };
    let undecided = if bytes.len() < MAX_HEAD {
        Verdict::Undecided
    } else {
        Verdict::Refuse
    };
    let Some(first) = line() else { return undecided };
    if !first.windows(6).any(|part| part == b" HTTP/") {
        return Verdict::Relay;
    }
    let (mut is_browser, mut hosts, mut is_own) = (false, 0, true);
    loop {
        let Some(line) = line() else { return undecided };
        if line.is_empty() {
            break;
        }
        let Ok(line) = str::from_utf8(line) else { continue };
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        let (name, value) = (name.to_ascii_lowercase(), value.trim());
        match name.as_str() {
            "host" => {
                hosts += 1;
                is_own &= without_default_port(value).eq_ignore_ascii_case(without_default_port(authority));
            }
            // A browser without the other headers, and the sockets of a page.
            "user-agent" => is_browser |= value.starts_with("Mozilla/"),
            "service-worker" => is_browser = true,
            name => is_browser |= name.starts_with("sec-fetch-"),
        }
    }
    if is_browser && !(hosts == 1 && is_own) {
        Verdict::Refuse
    } else {
        Verdict::Relay
    }
}

fn without_default_port(authority: &str) -> &str {
    authority.strip_suffix(":80").unwrap_or(authority)
}

/// Whether the first bytes of a server cannot be an HTTP answer to a browser.
fn is_greeting(bytes: &[u8]) -> bool {
    (0..=MAX_SKIPPED).all(|skipped| {
        let rest = bytes.get(skipped..).unwrap_or_default();
        let mut pairs = rest.iter().zip(b"http");
        pairs.any(|(byte, letter)| !byte.eq_ignore_ascii_case(letter))
    })
}

fn refusal(authority: &str) -> String {
    let text = format!(
        "Open http://{authority}/ instead. To this address your browser would send cookies of other programs of this \
         machine. A proxy passes {authority} as Host.\n"
    );
    format!(
        "HTTP/1.1 421 Misdirected Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n{text}",
        text.len()
    )
}

#[cfg(test)]
mod tests {
    use tokio::io::{DuplexStream, duplex};

    use super::*;

    const OWN: &str = "thread-1.localhost:5173";

    fn head(host: &str, more: &str) -> String {
        format!("GET / HTTP/1.1\r\nHost: {host}\r\n{more}\r\n")
    }

    #[test]
    fn a_browser_is_relayed_at_the_forwards_own_name_alone() {
        for browser in [
            "Sec-Fetch-Mode: navigate\r\n",
            "sec-fetch-dest: image\r\n",
            "Service-Worker: script\r\n",
            "User-Agent: Mozilla/5.0 (X11)\r\nUpgrade: websocket\r\n",
        ] {
            for (host, verdict) in [
                ("thread-1.localhost:5173", Verdict::Relay),
                ("Thread-1.LOCALHOST:5173", Verdict::Relay),
                ("thread-2.localhost:5173", Verdict::Refuse),
                ("thread-1.localhost:5174", Verdict::Refuse),
                ("thread-1.localhost", Verdict::Refuse),
                ("127.0.0.1:5173", Verdict::Refuse),
                ("localhost:5173", Verdict::Refuse),
                ("[::1]:5173", Verdict::Refuse),
                ("", Verdict::Refuse),
                ("thread-1.localhost:5173\r\nHost: 127.0.0.1", Verdict::Refuse),
            ] {
                let head = head(host, browser);
                for end in 0..head.len() {
                    assert_eq!(
                        judge(&head.as_bytes()[..end], OWN),
                        Verdict::Undecided,
                        "{end} {head}"
                    );
                }
                assert_eq!(judge(head.as_bytes(), OWN), verdict, "{head}");
            }
        }
        let without_host = "GET / HTTP/1.1\r\nSec-Fetch-Mode: cors\r\n\r\n";
        assert_eq!(judge(without_host.as_bytes(), OWN), Verdict::Refuse);
        let at_80 = head("thread-1.localhost", "Sec-Fetch-Mode: cors\r\n");
        assert_eq!(judge(at_80.as_bytes(), "thread-1.localhost:80"), Verdict::Relay);
    }

    #[test]
    fn other_programs_and_other_protocols_pass() {
        for bytes in [
            head("127.0.0.1:5173", "User-Agent: curl/8\r\nCookie: a=b\r\n").as_bytes(),
            b"Ada\n",
            b"*1\r\n$4\r\nPING\r\n",
            b"EHLO me\r\n",
            b"\x16\x03\x01\x02\x00",
            b"\x00\x00\x00\x08\x04",
            b"l\x00",
        ] {
            assert_eq!(judge(bytes, OWN), Verdict::Relay, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_head_without_an_end_is_refused() {
        for start in ["GET /", "GET / HTTP/1.1\r\nX: "] {
            let bytes = [start.as_bytes(), &vec![b'a'; MAX_HEAD]].concat();
            assert_eq!(judge(&bytes, OWN), Verdict::Refuse);
            assert_eq!(judge(&bytes[..MAX_HEAD - 1], OWN), Verdict::Undecided);
        }
    }

    /// Runs `admit` between a client and a server.
    fn between() -> (
        DuplexStream,
        DuplexStream,
        tokio::task::JoinHandle<io::Result<bool>>,
    ) {
        let (client, mut near) = duplex(1 << 16);
        let (mut far, server) = duplex(1 << 16);
        let admitting = tokio::spawn(async move { admit(&mut near, &mut far, OWN).await });
        (client, server, admitting)
    }

    async fn rest(mut side: DuplexStream) -> String {
        let mut text = String::new();
        side.read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn a_refused_request_reaches_no_server_and_gets_no_answer_of_one() {
        for early in [
            "HTTP/1.1 200 OK\r\n\r\nevil",
            "x\r\n\nhttp/1.1 200 OK\r\n\r\n",
            "x",
        ] {
            let (mut client, mut server, admitting) = between();
            server.write_all(early.as_bytes()).await.unwrap();
            tokio::task::yield_now().await;
            let head = head("127.0.0.1:5173", "Sec-Fetch-Mode: navigate\r\nCookie: a=b\r\n");
            client.write_all(head.as_bytes()).await.unwrap();
            assert!(!admitting.await.unwrap().unwrap());
            let answer = rest(client).await;
            assert!(
                answer.starts_with("HTTP/1.1 421 ") && answer.contains(&format!("http://{OWN}/")),
                "{early}: {answer}"
            );
            assert_eq!(rest(server).await, "", "{early}");
        }
    }

    #[tokio::test]
    async fn a_server_that_speaks_first_is_heard_and_gets_no_browsers_request() {
        let (mut client, mut server, admitting) = between();
        server.write_all(b"SSH-2.0-tea\r\n").await.unwrap();
        let mut greeting = [0; 13];
        client.read_exact(&mut greeting).await.unwrap();
        client.write_all(b"SSH-2.0-cup\r\n").await.unwrap();
        assert!(admitting.await.unwrap().unwrap());
        assert_eq!(rest(server).await, "SSH-2.0-cup\r\n");

        let (mut client, mut server, admitting) = between();
        server.write_all(b"220 tea.example\r\n").await.unwrap();
        server.shutdown().await.unwrap();
        let mut greeting = [0; 17];
        client.read_exact(&mut greeting).await.unwrap();
        let head = head("localhost:5173", "Sec-Fetch-Mode: navigate\r\n");
        client.write_all(head.as_bytes()).await.unwrap();
        assert!(!admitting.await.unwrap().unwrap());
        assert_eq!(
            (rest(client).await, rest(server).await),
            (String::new(), String::new())
        );
    }
}
