//! The questions, and the rule that each user's report has to contain.

/// The treatment of a link at the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AtEnd {
    Follow,
    Stay,
}

/// The parties that have to give the right answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KnownTo {
    AllUsers,
    /// Only the program: the engine over the host's file system leaves the case to its users. See
    /// `pathwalk_hostfs`, "What it does not do".
    Program,
}

/// The accesses that are asked for with `--want`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wants {
    /// One of the seven, another one for each user.
    One,
    /// All seven.
    Every,
}

/// One question.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) path: Vec<u8>,
    pub(crate) at_end: AtEnd,
    pub(crate) known_to: KnownTo,
    pub(crate) wants: Wants,
    /// The rules as `user rule, user rule, …`. The user is a name, `group` for the two users in the
    /// owner's group, or `*` for the rest.
    rules: &'static str,
    /// The rules by which a user may read, write and execute.
    pub(crate) may: Vec<(&'static str, &'static str)>,
}

fn case(path: impl AsRef<[u8]>, rules: &'static str) -> Case {
    let path = path.as_ref().to_vec();
    Case { path, at_end: AtEnd::Follow, known_to: KnownTo::AllUsers, wants: Wants::One, rules, may: Vec::new() }
}

/// Creates a case in which a link at the end is not followed, as with `lstat(2)`.
fn nofollow(path: impl AsRef<[u8]>, rules: &'static str) -> Case {
    Case { at_end: AtEnd::Stay, ..case(path, rules) }
}

impl Case {
    fn may(mut self, user: &'static str, rules: &'static str) -> Case {
        self.may.push((user, rules));
        self
    }

    fn every_want(self) -> Case {
        Case { wants: Wants::Every, ..self }
    }

    fn program_only(self) -> Case {
        Case { known_to: KnownTo::Program, ..self }
    }

    /// Returns the rule that this user's report has to contain.
    pub(crate) fn rule_for(&self, user: &str) -> &'static str {
        let is_group = matches!(user, "member" | "primary");
        let rule = |wanted: &str| self.rules.split(", ").filter_map(|rule| rule.split_once(' ')).find(|(who, _)| *who == wanted);
        let found = rule(user).or_else(|| rule("group").filter(|_| is_group)).or_else(|| rule("*"));
        found.expect("a case has a rule for each user").1
    }

    pub(crate) fn shown(&self) -> String {
        let path = self.path[..self.path.len().min(60)].escape_ascii();
        format!("\"{path}\" ({} bytes, {:?})", self.path.len(), self.at_end)
    }
}

const REACHED: &str = "* reached";
/// The rules for a node below a directory of the owner's with mode 0700.
const GUARDED: &str = "root reached, owner reached, group group-bits, * other-bits";

/// Returns all cases that do not depend on a switch of the kernel.
pub(crate) fn all() -> Vec<Case> {
    [directories(), files(), shapes(), links(), lists(), mounts()].concat()
}

fn directories() -> Vec<Case> {
    let long = |dir: &str| [dir.as_bytes(), &[b'n'; 256]].concat();
    vec![
        case("/d700/f", GUARDED),
        case("/d070/f", "root reached, owner owner-bits, group reached, * other-bits"),
        case("/d007/f", "root reached, owner owner-bits, group group-bits, * reached"),
        case("/d000/f", "root reached, owner owner-bits, group group-bits, * other-bits"),
        case("/d711/f", REACHED),
        case("/d744/f", GUARDED),
        case("/d677/f", "owner owner-bits, * reached"),
        case("/d701/f", "group group-bits, * reached"),
        case("/d710/f", "root reached, owner reached, group reached, * other-bits"),
        case("/root700/f", "root reached, * other-bits"),
        case("/d700", REACHED).may("root", "capability capability capability").may("owner", "owner-bits owner-bits owner-bits"),
        case("/d700/", REACHED).may("member", "group-bits group-bits group-bits"),
        case("/d700/.", GUARDED),
        case("/d700/..", GUARDED),
        case("/d700/../open/f", GUARDED),
        case("/d700/sub/../f", GUARDED),
        case("/open/../d700/f", GUARDED),
        case("/d700/nope", "root absent, owner absent, group group-bits, * other-bits"),
        case("/d700/f/x", "root not-a-directory, owner not-a-directory, group group-bits, * other-bits"),
        case(long("/d700/"), "root name-too-long, owner name-too-long, group group-bits, * other-bits"),
        nofollow("/d700/f", GUARDED),
        case("/d000", REACHED).may("other", "other-bits other-bits other-bits").may("root", "capability capability capability"),
        case("/tmp", REACHED).may("other", "other-bits other-bits other-bits"),
    ]
}

fn files() -> Vec<Case> {
    let modes = ["000", "400", "040", "004", "200", "020", "002", "100", "010", "001", "077", "777"];
    let mut cases: Vec<Case> = modes.iter().map(|mode| case(format!("/f{mode}"), REACHED)).collect();
    cases.extend([
        case("/f750", REACHED)
            .every_want()
            .may("root", "capability capability capability")
            .may("owner", "owner-bits owner-bits owner-bits")
            .may("member", "group-bits group-bits group-bits")
            .may("other", "other-bits other-bits other-bits"),
        case("/f644", REACHED)
            .every_want()
            .may("root", "other-bits capability no-execute-bit")
            .may("primary", "group-bits group-bits group-bits"),
        case("/fifo", REACHED).may("root", "capability capability no-execute-bit"),
        case("/fifo/", "* trailing-slash"),
        case("/immutable", REACHED)
            .every_want()
            .may("root", "owner-bits immutable no-execute-bit")
            .may("other", "other-bits immutable other-bits"),
        case("/caf\u{e9}", REACHED),
        case(b"/\xff", "* absent"),
    ]);
    cases
}

fn shapes() -> Vec<Case> {
    let name = |length: usize| vec![b'n'; length];
    let dots = |length: usize| b"./".iter().copied().cycle().take(length).collect::<Vec<u8>>();
    vec![
        case("", "* empty-path"),
        case("/", REACHED),
        case("//open///f", REACHED),
        case("/open/./f", REACHED),
        case("/open/../open/f", REACHED),
        case("/..", REACHED),
        case("../..", REACHED),
        case(".", REACHED),
        case("open/f", REACHED),
        case("nope", "* absent"),
        case("/open/F", "* absent"),
        case("/nope/x", "* absent"),
        case("/nope/..", "* absent"),
        case("/open/f/", "* trailing-slash"),
        case("/open/f/.", "* not-a-directory"),
        case("/open/f/..", "* not-a-directory"),
        case("/open/f/x", "* not-a-directory"),
        nofollow("/open/f/", "* trailing-slash"),
        case(name(255), "* absent"),
        case(name(256), "* name-too-long"),
        case([b"nope/", &name(256)[..]].concat(), "* absent"),
        case([b"open/f/", &name(256)[..]].concat(), "* not-a-directory"),
        case(dots(4095), REACHED),
        case(dots(4096), "* path-too-long"),
        case(name(5000), "* path-too-long"),
    ]
}

fn links() -> Vec<Case> {
    vec![
        case("/to-f", REACHED),
        nofollow("/to-f", REACHED),
        case("/to-f/", "* trailing-slash"),
        nofollow("/to-f/", "* trailing-slash"),
        case("/to-f/x", "* not-a-directory"),
        case("/to-open/f", REACHED),
        nofollow("/to-open/", REACHED),
        case("/to-open-slash", REACHED),
        nofollow("/to-open-slash", REACHED),
        case("/absolute", REACHED),
        case("/to-root/open/f", REACHED),
        case("/upward", REACHED),
        case("/to-file-slash", "* trailing-slash"),
        case("/dangling", "* dangling-link"),
        nofollow("/dangling", REACHED),
        nofollow("/dangling/", "* dangling-link"),
        case("/dangling/x", "* dangling-link"),
        case("/dangling-below", "* dangling-link"),
        case("/dangling-chain", "* dangling-link"),
        case("/to-open/nope", "* absent"),
        case("/loop-a", "* too-many-links"),
        case("/loop-a/x", "* too-many-links"),
        case("/self", "* too-many-links"),
        nofollow("/self", REACHED),
        nofollow("/self/", "* too-many-links"),
        case("/plain/here/here/f", REACHED),
        case(format!("/plain{}", "/here".repeat(41)), "* too-many-links"),
        case("/chain39", REACHED),
        case("/chain40", "* too-many-links"),
        nofollow("/chain40", REACHED),
        case("/to-guarded", GUARDED),
        case("/to-guarded-absolute", GUARDED),
        case("/open/up", GUARDED),
        nofollow("/open/up", REACHED),
    ]
}

fn lists() -> Vec<Case> {
    vec![
        case("/acl-user/f", "root reached, owner reached, group reached, listed reached, * acl-other"),
        case("/acl-user-none/f", "root reached, owner reached, group reached, listed acl-user, * acl-other"),
        case("/acl-group/f", "group acl-owning-group, * reached"),
        case("/acl-group-none/f", "group acl-owning-group, grouped acl-group, * reached"),
        case("/acl-masked/f", "group acl-mask, listed acl-mask, * reached"),
        case("/acl-unasked/f", "group group-bits, * reached"),
        case("/acl-user", REACHED).may("listed", "acl-user acl-user acl-user").may("owner", "owner-bits owner-bits owner-bits"),
        case("/acl-user-file", REACHED)
            .may("listed", "acl-user acl-user acl-user")
            .may("member", "acl-owning-group acl-owning-group acl-owning-group")
            .may("other", "acl-other acl-other acl-other")
            .may("root", "capability capability capability"),
        case("/acl-group-file", REACHED).may("grouped", "acl-group acl-group acl-group"),
        case("/acl-masked-file", REACHED)
            .may("listed", "acl-user acl-mask acl-mask")
            .may("member", "acl-owning-group acl-mask acl-mask")
            .every_want(),
        // One group may read and another may write, which does not give both to a member of both.
        case("/acl-split-file", REACHED)
            .may("member", "acl-owning-group acl-group acl-owning-group")
            .may("primary", "acl-owning-group acl-owning-group acl-owning-group")
            .every_want(),
        case("/acl-unasked-file", REACHED).may("listed", "other-bits other-bits other-bits"),
    ]
}

fn mounts() -> Vec<Case> {
    vec![
        case("/noexec/run", REACHED)
            .every_want()
            .may("root", "other-bits capability noexec-mount")
            .may("owner", "owner-bits owner-bits noexec-mount")
            .may("other", "other-bits other-bits noexec-mount"),
        case("/noexec/f", REACHED).may("other", "other-bits other-bits noexec-mount"),
        case("/noexec", REACHED).may("other", "other-bits other-bits other-bits"),
        case("/noexec/here/run", REACHED),
        case("/plain/run", REACHED).may("other", "other-bits other-bits other-bits"),
        case("/plain/../plain/out", REACHED),
        case("/read-only/all", REACHED)
            .every_want()
            .may("owner", "owner-bits read-only-mount owner-bits")
            .may("root", "other-bits read-only-mount no-execute-bit"),
        case("/read-only/f", REACHED)
            .may("other", "other-bits other-bits other-bits")
            .may("root", "other-bits read-only-mount no-execute-bit"),
        case("/read-only/link", REACHED),
        case("/read-only", REACHED).may("root", "owner-bits read-only-mount owner-bits"),
        case("/read-only-fs/f", REACHED)
            .may("other", "other-bits read-only-file-system other-bits")
            .may("root", "owner-bits read-only-file-system no-execute-bit")
            .program_only(),
        case("/nosymfollow/f", REACHED),
        nofollow("/nosymfollow/link", REACHED),
        case("/nosymfollow/link", "* nosymfollow-mount").program_only(),
        case("/nosymfollow/here/f", "* nosymfollow-mount").program_only(),
        case("/nosymfollow/link/x", "* nosymfollow-mount").program_only(),
    ]
}

/// Returns the cases of links in directories that several users may write to, for the switch on or
/// off.
pub(crate) fn sticky(protects: bool) -> Vec<Case> {
    let by = |on: &'static str| if protects { on } else { REACHED };
    let for_owner = by("owner reached, * protected-symlinks");
    vec![
        case("/tmp/of-owner", for_owner),
        case("/tmp/of-keeper", REACHED),
        case("/tmp/of-root", by("root reached, * protected-symlinks")),
        case("/tmp/dir-of-owner", for_owner),
        case("/tmp/dir-of-owner/", for_owner),
        case("/tmp/dir-of-owner/f", REACHED),
        case("/tmp/dir-of-owner/nope", "* absent"),
        nofollow("/tmp/of-owner", REACHED),
        nofollow("/tmp/dir-of-owner/", for_owner),
        case("/tmp-for-few/of-owner", REACHED),
        case("/tmp-not-sticky/of-owner", REACHED),
    ]
}
