//! The arguments of `pathwalk explain`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use pathwalk::Access;

/// The text below the options.
pub(crate) const EXPLAIN_EXAMPLES: &str = "\
Why can the web server not read that file?

  $ pathwalk explain /srv/www/index.html --as www-data
  /srv/www/index.html, as www-data (uid 33), of group www-data

  mode        owner  group     as     name
  drwxr-xr-x  root   root      other  /           [ext4 /dev/sda1]
  drwxr-xr-x  root   root      other  srv
  lrwxrwxrwx  root   root      -      www -> /home/alice/site
  drwxr-xr-x  root   root      other    home      [xfs /dev/sda2, noexec]
  drwxr-x---  alice  www-data  group    alice
  drwx------  alice  alice     other    site      <-- EACCES: may not be searched
  -           -      -         -      index.html  not looked for

  EACCES (Permission denied): www-data may not search /home/alice/site: others
    have ---, and it takes x
    chmod o+x /home/alice/site                # lets all users search it
    setfacl -m u:www-data:x /home/alice/site  # lets www-data alone search it

How to read it: one line a step; what links lead to is indented below them. The
mode ends in + where there is an access control list, and in ? where it could
not be read. \"as\" is what the user comes to each node as: its owner, one of its
group, other, by its access control list (acl), or past them all by a capability
(cap). Brackets tell where a mount begins, and what it forbids. Where the path
is reached, it is told what the user may do there, and by which rule.

Examples:
  pathwalk explain /usr/bin/awk
      a path and its links, as this process
  pathwalk explain lib/x.so --as alice
      as a user with the groups that /etc/group gives her
  pathwalk explain /data --as alice --want rw && echo yes
      the answer as an exit code, for scripts
  pathwalk explain /etc/shadow --landlock sandbox.rules --want r
      in a process that Landlock restricts by the rules in a file
  pathwalk explain x.so --cwd /opt/app/lib
      a path as a program meets it that runs in another directory
  pathwalk explain /data --as 1000:100,27
      as numbers: user 1000 of group 100, and of 27
  pathwalk explain /data --as $(id -u alice):$(id -G alice | tr ' ' ,)
      as a user of a name service: only /etc/passwd and /etc/group are read
  pathwalk explain /tmp/link --nofollow
      the link itself
  pathwalk explain /bin/sh --root /srv/debian
      in another tree, with its users; links stay in it
  pathwalk explain /etc/pasword --json | jq .near
      names like the one that is missing

The walk is pathwalk's own, over what this process may look at: ask for others
as root. Where this process may not look, that is said, and not taken for an
answer. Nothing is changed or run. NO_COLOR turns colours off.";

/// The arguments of `pathwalk explain`.
#[derive(ClapArgs, Debug)]
pub(crate) struct ExplainArgs {
    /// The path; a relative one starts in --cwd
    pub(crate) path: OsString,
    /// Directory that is the root: absolute paths and links start there, and `..` ends there
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// User and groups whose permissions count, by numbers or names; without groups, those of the
    /// user [default: this process's]
    #[arg(long = "as", value_name = "UID[:GID[,GID…]]")]
    pub(crate) asker: Option<String>,
    /// Access to the end that is asked for: some of r, w and x. All of it must be granted at once
    /// for exit code 0
    #[arg(long, value_name = "RWX", value_parser = access, allow_hyphen_values = true)]
    pub(crate) want: Option<Access>,
    /// Directory in which a relative path starts, looked up like the path: within --root, as root
    /// [default: the working directory, or with --root that root]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// File with a ruleset of Landlock that the user's process is restricted by. Its lines are
    /// `restrict RIGHTS` and `allow RIGHTS PATH`; rights are all, execute, write-file, read-file,
    /// read-dir, remove-dir, remove-file, make-char, make-dir, make-reg, make-sock, make-fifo,
    /// make-block, make-sym, refer, truncate, separated by commas. Paths are looked up like the
    /// path, as root. May be given several times: each file is one more ruleset, and all of them
    /// have to allow an access. To write a directory is to make a file in it
    #[arg(long, value_name = "FILE")]
    pub(crate) landlock: Vec<PathBuf>,
    /// Do not follow a link at the end, as lstat(2)
    #[arg(long)]
    pub(crate) nofollow: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Parses an access: some of `r`, `w` and `x` in any order, with or without dashes, as in `r-x`.
fn access(text: &str) -> Result<Access, String> {
    let mut access = Access::empty();
    for letter in text.chars() {
        access |= match letter {
            'r' => Access::READ,
            'w' => Access::WRITE,
            'x' => Access::EXECUTE,
            '-' => continue,
            _ => return Err(format!("there are r, w and x, and no '{}': write for example rw", letter.escape_debug())),
        };
    }
    if access.is_empty() { Err("name one of r, w and x at least: write for example rw".into()) } else { Ok(access) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_is_some_of_three_letters() {
        assert_eq!(access("r"), Ok(Access::READ));
        assert_eq!(access("xr"), Ok(Access::READ | Access::EXECUTE));
        assert_eq!([access("r-x"), access("--x")], [Ok(Access::READ | Access::EXECUTE), Ok(Access::EXECUTE)]);
        assert_eq!(access("rwx"), Ok(Access::all()));
        for (bad, says) in [("", "at least"), ("---", "at least"), ("rq", "no 'q'"), ("R", "no 'R'"), ("7", "no '7'")] {
            assert!(access(bad).unwrap_err().contains(says), "{bad}");
        }
    }
}
