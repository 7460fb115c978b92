//! The server of `pathwalk try --server`: programs send requests, a JSON object on each line, and
//! get replies. `docs/agents.md` has the protocol.
//!
//! - [`message`]: requests, replies and failures;
//! - [`session`]: what is done, for this protocol and that of [`mcp`](super::mcp);
//! - [`line`](mod@line): one branch, which is opened and closed;
//! - [`steps`]: the branch as each command has left it;
//! - [`command`]: a command while it runs, and [`output`], of which some is kept;
//! - [`client`]: lines that come and go, and [`socket`]: several clients.
//!
//! What always holds: a line that is no request gets an error, and the next one is read. At the end
//! no command runs, and the branch is kept or dropped as the options say.

pub(super) mod client;
mod command;
mod line;
pub(super) mod message;
mod output;
pub(super) mod session;
mod socket;
mod steps;

use std::io::{BufReader, stdin, stdout};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use pathwalk_hostfs::Coherence;
use pathwalk_output::program;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::chosen;
use super::mcp;
use super::options::TryArgs;
use crate::branch::place::{Missing, Place};
use client::Client;
use session::Session;
use socket::Socket;

/// Serves until the end of the input, or a signal.
pub(super) fn serve(args: &TryArgs, place: &Place, directory: &Path) -> anyhow::Result<u8> {
    let own = {
        let branches = place.open(Coherence::Exclusive, None, Missing::Make)?;
        let (own, fork) = chosen::choose(args, &branches)?;
        fork.wait()?;
        own
    };
    let mut sight = args.sight.clone();
    let socket = args.socket.as_deref().map(Socket::make).transpose()?;
    // By it, a command could ask for a commit.
    sight.hide.extend(socket.as_ref().map(|socket| socket.path().to_owned()));
    let session = Arc::new(Session::begin(args, place, directory, own, sight));
    end_with_signals(&session, socket.as_ref())?;
    match &socket {
        Some(socket) => socket.serve(&session)?,
        None if args.mcp => mcp::serve(&session, BufReader::new(stdin()), stdout())?,
        None => Client::new(&session, stdout()).serve(BufReader::new(stdin())),
    }
    session.finish()?;
    Ok(0)
}

/// Has a signal end all commands, and then the program.
fn end_with_signals(session: &Arc<Session>, socket: Option<&Socket>) -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).context("handling signals")?;
    let (session, path) = (Arc::clone(session), socket.map(|socket| socket.path().to_owned()));
    let end = move || {
        if let Some(signal) = signals.forever().next() {
            if let Some(path) = path {
                // It may be gone.
                let _ = std::fs::remove_file(path);
            }
            session.kill();
            if let Err(error) = session.finish() {
                program::complain(&error);
            }
            std::process::exit(128 + signal);
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(end).context("starting a thread").map(drop)
}
