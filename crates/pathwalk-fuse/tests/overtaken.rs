//! Tests of answers that are under way while others change what they are about. The kernel keeps
//! what it was told for ever.

use std::fs;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};

use crate::common::{Case, names, until};
use pathwalk::{
    Attributes, Credentials, Directory, Entry, Errno, FIRST_COOKIE, FileSystem, FileType, Freshness, Name, Node, NodeKey,
    Notifier, OpenFile, OpenFor, Vfs,
};
use pathwalk_fuse::CacheTimes;

/// Checks that no answer from before a change stays, beside threads that ask all the time.
#[test]
fn answers_that_are_under_way() {
    let Some(case) = Case::new(CacheTimes::FOREVER) else { return };
    struct Ends<'a>(&'a AtomicBool);
    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let ends = AtomicBool::new(false);
    fs::create_dir(case.at("d")).unwrap();
    std::thread::scope(|scope| {
        let _ends = Ends(&ends);
        for _ in 0..4 {
            scope.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    let _ =
                        (fs::metadata(case.at("d/f")), fs::read(case.at("d/f")), fs::read_dir(case.at("d")).map(Iterator::count));
                }
            });
        }
        for round in 0..300 {
            let text = format!("{round}").repeat(round % 7 + 1);
            case.context.write("/d/f", &text).unwrap();
            until(Some(text.clone().into_bytes()), || fs::read(case.at("d/f")).ok());
            until(Some(text.len() as u64), || fs::metadata(case.at("d/f")).ok().map(|of| of.len()));
            until(1, || names(&case.at("d")).len());
            if round % 3 == 0 {
                case.context.remove_file("/d/f").unwrap();
                until(false, || case.at("d/f").exists());
                until(0, || names(&case.at("d")).len());
            }
        }
    });
}

/// A root with the files `f` and `g`, whose attributes are asked for each time, and with `h` once
/// it is made. An answer about `g` and one about the name `h` can be held.
#[derive(Default)]
struct Held {
    size: AtomicU64,
    has_h: AtomicBool,
    state: Mutex<Hold>,
    changed: Condvar,
    notifier: OnceLock<Notifier>,
}

#[derive(Default)]
struct Hold {
    /// Whether the next answer is held.
    wanted: bool,
    /// Whether one is.
    is: bool,
}

const ROOT: NodeKey = NodeKey(0);
const FILES: [(&[u8], NodeKey); 2] = [(b"f", NodeKey(1)), (b"g", NodeKey(2))];

const H: (&[u8], NodeKey) = (b"h", NodeKey(3));

impl Held {
    /// Holds an answer that was found out, if one is wanted.
    fn hold(&self) {
        let mut state = self.state.lock().unwrap();
        if state.wanted {
            state.is = true;
            self.changed.notify_all();
            drop(self.changed.wait_while(state, |state| state.wanted).unwrap());
        }
    }

    /// Makes the change while an answer is held, and lets go of it once `told` is true.
    fn change_meanwhile(&self, change: impl FnOnce(&Notifier), told: impl Fn() -> bool) {
        drop(self.changed.wait_while(self.state.lock().unwrap(), |state| !state.is).unwrap());
        change(self.notifier.get().unwrap());
        until(true, told);
        self.state.lock().unwrap().wanted = false;
        self.changed.notify_all();
    }
}

impl FileSystem for Held {
    fn attached(&self, notifier: Notifier) {
        _ = self.notifier.set(notifier);
    }

    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(ROOT, Attributes::new(FileType::Directory, 0o755)))
    }

    fn lookup(&self, _: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        if name.bytes() == H.0 {
            let has_h = self.has_h.load(Ordering::SeqCst);
            self.hold();
            return Ok(has_h.then(|| Node::new(H.1, Attributes::new(FileType::Regular, 0o644))));
        }
        let found = FILES.into_iter().find(|(of, _)| *of == name.bytes());
        Ok(found.map(|(_, key)| Node::new(key, Attributes::new(FileType::Regular, 0o644))))
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        if node == ROOT {
            return Ok(Attributes::new(FileType::Directory, 0o755));
        }
        let mut attributes = Attributes::new(FileType::Regular, 0o644).with_ino(node.0 as u64);
        attributes.size = self.size.load(Ordering::SeqCst);
        if node == FILES[1].1 {
            self.hold();
        }
        Ok(attributes)
    }

    fn attributes_freshness(&self, _: NodeKey) -> Freshness {
        Freshness::AskEachTime
    }

    fn open(&self, _: NodeKey, _: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        Ok(Box::new(Listing))
    }
}

struct Listing;

impl OpenFile for Listing {
    fn read_at(&self, _: &mut [u8], _: u64) -> Result<usize, Errno> {
        Err(Errno::EISDIR)
    }

    fn read_dir(&self, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
        for ((name, key), cookie) in FILES.into_iter().zip(FIRST_COOKIE..).filter(|(_, cookie)| *cookie > from) {
            if each(Entry { name, key, ino: key.0 as u64, kind: FileType::Regular, cookie }).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// Checks that an answer is not kept which was found out before a change, and given after the
/// kernel was told of the change.
#[test]
fn an_answer_that_a_notice_overtakes() {
    let fs = Arc::new(Held::default());
    let context = Vfs::builder().build(Arc::clone(&fs)).unwrap().context(Credentials::root());
    let Some(case) = Case::of(context, |_| {}) else { return };
    fs.state.lock().unwrap().wanted = true;
    std::thread::scope(|scope| {
        // A listing with attributes: those of `f` are found out, and those of `g` have to wait.
        let lister = scope.spawn(|| names(case.dir.path()).len());
        let before = case.mounted().notices();
        let change = |notifier: &Notifier| {
            fs.size.store(7, Ordering::SeqCst);
            [FILES[0].1, ROOT].into_iter().for_each(|node| notifier.invalidate_attributes(node));
        };
        // The kernel does not have the file yet, so this notice is about the root.
        fs.change_meanwhile(change, || case.mounted().notices() > before);
        assert_eq!(lister.join().unwrap(), 2);
    });
    until(7, || fs::metadata(case.at("f")).unwrap().len());
}

/// Checks that the absence of a name is not kept which was found out before the name was made, and
/// answered after the kernel was told of it.
#[test]
fn an_absence_that_a_notice_overtakes() {
    let fs = Arc::new(Held::default());
    let context = Vfs::builder().build(Arc::clone(&fs)).unwrap().context(Credentials::root());
    let Some(case) = Case::of(context, |_| {}) else { return };
    fs.state.lock().unwrap().wanted = true;
    std::thread::scope(|scope| {
        scope.spawn(|| case.at("h").exists());
        let before = case.mounted().notices();
        let change = |notifier: &Notifier| {
            fs.has_h.store(true, Ordering::SeqCst);
            notifier.invalidate_name(ROOT, Name::new(H.0).unwrap());
        };
        fs.change_meanwhile(change, || case.mounted().notices() > before);
    });
    until(true, || case.at("h").exists());
}
