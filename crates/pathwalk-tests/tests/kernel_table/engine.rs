//! The engine's side: the same questions through each face.

use pathwalk::{Access, At, AtFlags, Context, Errno, Handle, Resolve};
use xtask::face::{Company, Face, Kind};

use crate::question::{Answer, Ask, Seen};

/// One face of the engine.
pub(crate) struct Engine {
    pub(crate) kind: Kind,
    face: Box<dyn Face>,
    /// The rules by which the face resolves paths.
    rules: Resolve,
    /// A flag that is set if paths of handles are compared.
    paths: bool,
}

impl Engine {
    pub(crate) fn new(kind: Kind, context: Context, paths: bool) -> Engine {
        Engine { kind, face: kind.face(context, Company::Alone), rules: Resolve::empty(), paths }
    }

    /// Asks the engine, from a starting point.
    pub(crate) fn ask(&mut self, ask: Ask, at: At<'_>, path: &[u8]) -> Answer {
        self.answer(ask, at, path).unwrap_or_else(Answer::Refused)
    }

    /// Returns the number of answers so far that were not ready at once. A context is not counted,
    /// since it does not report the source of its answers.
    pub(crate) fn late(&self) -> u64 {
        let tally = self.kind.tally();
        tally.asked - tally.answered
    }

    fn answer(&mut self, ask: Ask, at: At<'_>, path: &[u8]) -> Result<Answer, Errno> {
        self.resolve_by(if let Ask::Resolved(rules, _) = ask { rules } else { Resolve::empty() })?;
        match ask {
            Ask::Access(want, flags) => self.face.faccessat(at, path, want, flags).map(|()| Answer::Granted),
            Ask::Stat(flags) => self.face.fstatat(at, path, flags).map(|it| Answer::Attributes(it.into())),
            Ask::Readlink(size) => self.readlink(at, path, size).map(Answer::Body),
            Ask::Lookup(flags) | Ask::Resolved(_, flags) => self.lookup(at, path, flags),
        }
    }

    fn resolve_by(&mut self, rules: Resolve) -> Result<(), Errno> {
        if self.rules != rules {
            self.face.set_rules(rules)?;
            self.rules = rules;
        }
        Ok(())
    }

    fn readlink(&mut self, at: At<'_>, path: &[u8], size: usize) -> Result<Vec<u8>, Errno> {
        let mut buffer = vec![0xee; size];
        let len = self.face.readlinkat(at, path, &mut buffer)?;
        assert!(buffer[len..].iter().all(|byte| *byte == 0xee), "readlink wrote behind what it says it wrote");
        buffer.truncate(len);
        Ok(buffer)
    }

    /// Checks that the rules have the same effect on other operations as on a lookup.
    pub(crate) fn check_rules(&mut self, ask: Ask, at: At<'_>, path: &[u8], answer: &Answer) {
        let Ask::Resolved(rules, flags) = ask else { return };
        if self.resolve_by(rules).is_err() {
            return;
        }
        let found = match answer {
            Answer::Place(seen, _) => Ok(*seen),
            Answer::Refused(errno) => Err(*errno),
            _ => unreachable!("a lookup leads to a place"),
        };
        let stat = self.face.fstatat(at, path, flags).map(Seen::from);
        assert_eq!(stat, found, "{:?}: stat of \"{}\"", self.kind, path.escape_ascii());
        let access = self.face.faccessat(at, path, Access::empty(), flags);
        assert_eq!(access, found.map(drop), "{:?}: access to \"{}\"", self.kind, path.escape_ascii());
    }

    /// Looks a path up. The walk that reports its steps has to end where the context's other walks
    /// do.
    fn lookup(&mut self, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<Answer, Errno> {
        let answer = self.face.lookupat(at, path, flags).and_then(|handle| self.place(&handle));
        if self.kind == Kind::Engine {
            let told = self.face.steps_at(at, path, flags).answer.and_then(|handle| self.place(&handle));
            assert_eq!(told, answer, "told and silent walk of \"{}\"", path.escape_ascii());
        }
        answer
    }

    fn place(&self, handle: &Handle) -> Result<Answer, Errno> {
        let attributes = handle.attributes()?;
        assert_eq!(attributes.kind, handle.kind());
        Ok(Answer::Place(attributes.into(), if self.paths { handle.path().ok() } else { None }))
    }
}
