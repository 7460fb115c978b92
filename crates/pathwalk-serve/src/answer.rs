//! The answers to requests. Nothing is cached: each answer is read from the file system anew.

use std::convert::Infallible;
use std::io;

use bytes::Bytes;
use http_body_util::{Either, Empty, Full, channel::Channel};
use hyper::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use crate::file::Content;
use crate::{Opened, Refused, Served, segments};

/// The number of bytes up to which a file is read before the answer begins. A longer file is read
/// while it is sent, this many bytes at a time.
pub(crate) const AT_ONCE: u64 = 64 << 10;

/// A body: nothing, all at once, or piece by piece.
pub(crate) type Body = Either<Full<Bytes>, Either<Channel<Bytes, io::Error>, Empty<Bytes>>>;

/// Answers a request. GET and HEAD give 200; 403 for `..`, for files that may not be read, and for
/// paths that lead out; 404 for absent files. Other methods give 405.
pub(crate) async fn answer<B>(served: &Served, request: Request<B>) -> Result<Response<Body>, Infallible> {
    let method = request.method();
    if method != Method::GET && method != Method::HEAD {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, method);
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Ok(response);
    }
    let found = match segments(request.uri().path()) {
        Ok(names) => file(served, &names, method).await,
        Err(refused) => Err(refused),
    };
    Ok(found.unwrap_or_else(|refused| {
        let status = match refused {
            Refused::Absent => StatusCode::NOT_FOUND,
            Refused::Forbidden => StatusCode::FORBIDDEN,
            Refused::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        };
        plain(status, method)
    }))
}

async fn file(served: &Served, names: &[Vec<u8>], method: &Method) -> Result<Response<Body>, Refused> {
    let Opened { length, mut content } = served.open(names).await?;
    let kind = content_type(names);
    if method == Method::HEAD {
        return Ok(response(kind, length, nothing()));
    }
    if length > AT_ONCE {
        return Ok(response(kind, length, in_pieces(content, length)));
    }
    let bytes = content.read(length as usize, 0).await?;
    Ok(response(kind, bytes.len() as u64, Either::Left(Full::from(bytes))))
}

/// Returns the content type by the extension of the last name. A directory's index is HTML.
fn content_type(names: &[Vec<u8>]) -> HeaderValue {
    let name = names.last().and_then(|name| str::from_utf8(name).ok()).unwrap_or_default();
    let is_plain = !name.contains('.');
    let guessed = mime_guess::from_path(name).first_raw();
    match guessed {
        Some(kind) if kind.starts_with("text/") => {
            HeaderValue::try_from(format!("{kind}; charset=utf-8")).unwrap_or(HeaderValue::from_static("text/plain"))
        }
        Some(kind) => HeaderValue::from_static(kind),
        None if is_plain => HeaderValue::from_static("text/html; charset=utf-8"),
        None => HeaderValue::from_static("application/octet-stream"),
    }
}

fn response(kind: HeaderValue, length: u64, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response.headers_mut().insert(CONTENT_LENGTH, length.into());
    response
}

fn nothing() -> Body {
    Either::Right(Either::Right(Empty::new()))
}

/// Returns a response with a status and its text.
fn plain(status: StatusCode, method: &Method) -> Response<Body> {
    let text = format!("{}\n", status.canonical_reason().unwrap_or_default());
    let length = text.len() as u64;
    let body = if method == Method::HEAD { nothing() } else { Either::Left(Full::from(text)) };
    let mut response = response(HeaderValue::from_static("text/plain; charset=utf-8"), length, body);
    *response.status_mut() = status;
    response
}

/// Returns a body that is read while it is sent. If the file becomes shorter meanwhile, the
/// connection is aborted, because the length was already sent.
fn in_pieces(mut content: Content, length: u64) -> Body {
    let (mut sender, body) = Channel::new(1);
    tokio::spawn(async move {
        let mut offset = 0;
        while offset < length {
            let at_most = AT_ONCE.min(length - offset) as usize;
            let piece = content.read(at_most, offset).await;
            let piece =
                piece.and_then(|piece| if piece.is_empty() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(piece) });
            match piece {
                Ok(piece) => {
                    offset += piece.len() as u64;
                    if sender.send_data(piece.into()).await.is_err() {
                        return;
                    }
                }
                Err(error) => return sender.abort(error),
            }
        }
    });
    Either::Right(Either::Left(body))
}
