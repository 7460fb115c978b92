//! What can be asked of `pathwalk explain`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args as ClapArgs;

/// Shown below the options.
pub(crate) const EXPLAIN_EXAMPLES: &str = "\
Why can the web server not read that file?
  $ pathwalk explain /srv/www/index.html --as www-data
  /srv/www/index.html, as www-data (uid 33), of group www-data

  mode        owner  group     as     name
  drwxr-xr-x  root   root      other  /                         [ext4 /dev/sda1]
  drwxr-xr-x  root   root      other  srv
  lrwxrwxrwx  root   root      -      www -> /home/alice/site
  drwxr-xr-x  root   root      other    home                    [xfs /dev/sda2, noexec]
  drwxr-x---  alice  www-data  group    alice
  drwx------  alice  alice     other    site                    <-- EACCES: may not be searched
  -           -      -         -      index.html                not looked for

  EACCES (Permission denied): www-data may not search /home/alice/site: others have ---, and it takes x
    chmod o+x /home/alice/site                # lets everybody search it
    setfacl -m u:www-data:x /home/alice/site  # lets www-data alone search it

How to read it: one line a step, what links lead to below them. The mode ends in + where there is an access control list, and
in ? where it could not be read. \"as\" is what the user comes to each node as: its owner, one of its group, other, by its
access control list (acl), or past them all by a capability (cap). Brackets tell where a mount begins, and what it forbids.
Where the path is reached, it is told what the user may do there, and by which rule.

Examples:
  pathwalk explain /usr/bin/awk                    a path and its links, as this process
  pathwalk explain lib/x.so --as alice             as a user with the groups that she has in /etc/group
  pathwalk explain /data --as 1000:100,27          as numbers: user 1000 of group 100, and of 27
  pathwalk explain /data --as $(id -u alice):$(id -G alice | tr ' ' ,)
                                                   as a user of a name service: only /etc/passwd and /etc/group are read
  pathwalk explain /tmp/link --nofollow            the link itself
  pathwalk explain /bin/sh --root /srv/debian      in another tree, with its users; links stay in it
  pathwalk explain /etc/pasword --json | jq .near  names like the one that is missing

The walk is pathwalk's own, over what this process may look at: ask for others as root. Where this process may not look, that is
said, and not taken for an answer. Nothing is changed or run. NO_COLOR turns colours off.
Exit codes: 0 the path is reached; 1 it is not; 2 it could not be explained.";

/// What `pathwalk explain` is asked.
#[derive(ClapArgs, Debug)]
pub(crate) struct ExplainArgs {
    /// The path; a relative one starts in the working directory, or with --root at that root
    pub(crate) path: OsString,
    /// Directory that is the root: absolute paths and links start there, and `..` ends there
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Whose rights count, by numbers or names; without groups, those that the user has [default: this process's]
    #[arg(long = "as", value_name = "UID[:GID[,GID…]]")]
    pub(crate) asker: Option<String>,
    /// Do not follow a link at the end, as lstat(2)
    #[arg(long)]
    pub(crate) nofollow: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}
