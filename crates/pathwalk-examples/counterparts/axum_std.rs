//! `examples/axum_files.rs` with `std::fs` and `tokio`, on a directory of the host.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use axum::{Router, body::Body, extract, http::Request, http::StatusCode, routing::get};
use tower::ServiceExt;

fn read(root: &Path, path: &str) -> Result<Vec<u8>> {
    let path = root.join(path).canonicalize()?;
    if !path.starts_with(root) {
        return Err(ErrorKind::PermissionDenied.into());
    }
    fs::read(path)
}

async fn file(root: extract::State<PathBuf>, path: extract::Path<String>) -> std::result::Result<Vec<u8>, StatusCode> {
    let read = tokio::task::spawn_blocking(move || read(&root, &path)).await.unwrap_or_else(|error| Err(Error::other(error)));
    read.map_err(|error| if error.kind() == ErrorKind::NotFound { StatusCode::NOT_FOUND } else { StatusCode::FORBIDDEN })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let host = tempfile::tempdir()?;
    let site = host.path().canonicalize()?.join("site");
    fs::create_dir(&site)?;
    fs::write(site.join("index.html"), "<p>Hello.")?;
    fs::write(host.path().join("secret"), "of the host")?;
    std::os::unix::fs::symlink("../secret", site.join("link"))?;
    let app = Router::new().route("/{*path}", get(file)).with_state(site);
    for (path, status) in [("/index.html", 200), ("/..%2fsecret", 403), ("/%2fsecret", 404), ("/link", 403), ("/.", 403)] {
        assert_eq!(app.clone().oneshot(Request::get(path).body(Body::empty())?).await?.status(), status, "{path}");
    }
    let Some(address) = std::env::args().nth(1) else { return Ok(()) };
    Ok(axum::serve(tokio::net::TcpListener::bind(address).await?, app).await?)
}
