//! Files over HTTP: an `axum` handler that serves a confined context. What is cached is opened
//! without a hop to another thread, and no path leads out, however it is spelled.
//!
//! ```sh
//! cargo run -p pathwalk-examples --example axum_files               # tries itself
//! cargo run -p pathwalk-examples --example axum_files 127.0.0.1:8080   # and then serves
//! ```
//!
//! `pathwalk-serve` is a larger one, for long files and slow clients. The same program with other
//! crates:
//!
//! - 31 lines in `counterparts/axum_std.rs`, with `std::fs` and `tokio`: it hops to another thread
//!   for each request. Between the check of a path and its use, another process may put a link
//!   there.

use axum::{Router, body::Body, extract, http::Request, http::StatusCode, routing::get};
use pathwalk::{Credentials, Errno, OpenFlags, Vfs};
use pathwalk_memfs::MemFs;
use pathwalk_ring::{AsyncContext, Offset, Pool};
use tower::ServiceExt;

async fn file(files: extract::State<AsyncContext>, path: extract::Path<String>) -> Result<Vec<u8>, StatusCode> {
    let read = async {
        let file = files.open(&*path, OpenFlags::READ).await?;
        files.read(&file, vec![0; file.metadata()?.size as usize], Offset::At(0)).await
    };
    read.await.map_err(|errno| if errno == Errno::ENOENT { StatusCode::NOT_FOUND } else { StatusCode::FORBIDDEN })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let host = Vfs::builder().build(MemFs::new())?.context(Credentials::root());
    host.create_dir("/site")?;
    host.write("/site/index.html", "<p>Hello.")?;
    host.write("/secret", "of the host")?;
    host.symlink("/secret", "/site/link")?;
    let files = AsyncContext::new(host.confined(&host.lookup("/site")?)?, Pool::default());
    let app = Router::new().route("/{*path}", get(file)).with_state(files);
    for (path, status) in [("/index.html", 200), ("/..%2fsecret", 404), ("/%2fsecret", 404), ("/link", 404), ("/.", 403)] {
        assert_eq!(app.clone().oneshot(Request::get(path).body(Body::empty())?).await?.status(), status, "{path}");
    }
    let Some(address) = std::env::args().nth(1) else { return Ok(()) };
    Ok(axum::serve(tokio::net::TcpListener::bind(address).await?, app).await?)
}
