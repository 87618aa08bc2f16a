//! As much of HTTP/1.1 as a model client needs, by hand: what goes into one piece on the wire is part of a test.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, BufWriter};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// Longest head of a request.
const MAX_HEAD_BYTES: u64 = 64 << 10;
/// Longest body of a request.
const MAX_BODY_BYTES: usize = 16 << 20;

/// Where answers go. What is not flushed may be held back.
pub(super) type Out = BufWriter<OwnedWriteHalf>;

/// A request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    /// Names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Reads the next request; `None` when the client has closed the connection.
pub(super) async fn read(reader: &mut BufReader<OwnedReadHalf>) -> io::Result<Option<Request>> {
    let invalid = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let mut lines = Vec::new();
    let mut head = reader.take(MAX_HEAD_BYTES);
    loop {
        let mut line = String::new();
        if head.read_line(&mut line).await? == 0 {
            return if lines.is_empty() {
                Ok(None)
            } else {
                Err(invalid("the head has no end"))
            };
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        lines.push(line.to_owned());
    }
    let mut words = lines
        .first()
        .map(|line| line.split(' '))
        .ok_or_else(|| invalid("no request line"))?;
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Err(invalid("no request line"));
    };
    let headers = lines[1..].iter().filter_map(|line| line.split_once(':'));
    let headers: Vec<(String, String)> = headers
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        headers,
        body: Vec::new(),
    };
    let length = request
        .header("content-length")
        .map_or(Ok(0), str::parse::<usize>);
    let length = length.map_err(|_| invalid("no length"))?;
    if length > MAX_BODY_BYTES {
        return Err(invalid("the body is too long"));
    }
    request.body = vec![0; length];
    reader.read_exact(&mut request.body).await?;
    Ok(Some(request))
}

/// Writes an answer that is complete at once.
pub(super) async fn answer(
    writer: &mut Out,
    status: u16,
    headers: impl Iterator<Item = (&String, &String)>,
    body: &str,
) -> io::Result<()> {
    let mut text = format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        text.extend([name, ": ", value, "\r\n"]);
    }
    text.extend(["\r\n", body]);
    writer.write_all(text.as_bytes()).await?;
    writer.flush().await
}

/// Begins an answer that is a stream.
pub(super) async fn begin(writer: &mut Out) -> io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    writer.write_all(head.as_bytes()).await
}

/// Writes one piece of it.
pub(super) async fn piece(writer: &mut Out, bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let mut piece = format!("{:x}\r\n", bytes.len()).into_bytes();
    piece.extend_from_slice(bytes);
    piece.extend_from_slice(b"\r\n");
    writer.write_all(&piece).await
}

/// Ends it.
pub(super) async fn end(writer: &mut Out) -> io::Result<()> {
    writer.write_all(b"0\r\n\r\n").await?;
    writer.flush().await
}
