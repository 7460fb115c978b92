//! The program: `pathwalk-serve DIR`.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Parser, ValueEnum};
use pathwalk::Credentials;
use pathwalk_serve::{Limits, OneHop, Served, Site, TokioFs, serve};
use tokio::net::TcpListener;

const EXAMPLES: &str = "\
Examples:
  pathwalk-serve /srv/www                        on http://127.0.0.1:8080
  pathwalk-serve /srv/www --listen 127.0.0.1:0   on a port that is free; the address is printed
  pathwalk-serve /srv/www --with tokio-fs        the same tree without pathwalk, to compare

Every request is read from the files; only where they are is cached. Changes of the tree are served as soon as the kernel reports them.
DIR is the directory that it was at the start: to replace all of it by a rename, serve the directory above.
Nothing above DIR is served: a path with \"..\" is refused (403), and links are followed as if DIR were the root.";

/// Static files over HTTP, each path resolved through pathwalk's async face
#[derive(Parser, Debug)]
#[command(name = "pathwalk-serve", version, after_help = EXAMPLES)]
struct Args {
    /// Directory that is served
    #[arg(value_name = "DIR")]
    root: PathBuf,
    /// Address to listen on; port 0 stands for a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Code that finds and reads the files
    #[arg(long, value_name = "AGENT", default_value = "pathwalk")]
    with: With,
    /// Budget of the caches in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20)]
    budget: u64,
    /// Number of connections that there may be at once; further ones wait
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().connections, value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
    /// Seconds after which a client that sends no request, or takes no answer, is disconnected
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    patience: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum With {
    /// The async face over a directory of the host
    Pathwalk,
    /// `tokio::fs`: a thread for each call
    TokioFs,
    /// openat2(2), fstat(2) and read(2) on one thread for each request
    OneHop,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let served = match args.with {
        With::Pathwalk => Served::Pathwalk(Site::of_host(&args.root, Credentials::root(), args.budget)?),
        With::TokioFs => Served::TokioFs(TokioFs::new(&args.root)?),
        With::OneHop => Served::OneHop(OneHop::new(&args.root)?),
    };
    let patience = Duration::from_secs(args.patience);
    let limits = Limits { head: patience, stall: patience, connections: args.connections };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting the runtime")?;
    runtime.block_on(async {
        let listener = TcpListener::bind(args.listen).await.with_context(|| format!("listening on {}", args.listen))?;
        let address = listener.local_addr().context("asking for the address")?;
        // A reader of this line can rely on the server listening. A missing reader is not an error.
        _ = writeln!(std::io::stdout(), "http://{address}");
        serve(listener, served, limits).await;
        Ok(())
    })
}
