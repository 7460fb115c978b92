"""Attempts to change something outside of a try, from inside of it.

usage: attempts.py OUTSIDE VICTIM SERVER SOCKET: a directory outside, two processes outside, and the
name of an abstract socket outside. Each attempt is a process of its own. What it comes to is printed
on one line; whether anything changed is for the caller to see."""

import ctypes, os, signal, socket, subprocess, sys

OUTSIDE, VICTIM, SERVER, SOCKET = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
libc = ctypes.CDLL(None, use_errno=True)
ATTEMPTS = []


def call(number, *args):
    args = [arg if isinstance(arg, (bytes, type(None))) else ctypes.c_long(arg) for arg in args]
    result = libc.syscall(ctypes.c_long(number), *args)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def attempt(name):
    return lambda function: ATTEMPTS.append((name, function))


def shell(name, script):
    ATTEMPTS.append((name, lambda: subprocess.run(["sh", "-c", script], check=True, capture_output=True)))


def write(path, mode="w"):
    with open(path, mode) as file:
        file.write("escaped")


# What changes a file or its directory, by each way to it.
OPERATIONS = {
    "write": lambda dir: write(dir + "/file"),
    "append": lambda dir: write(dir + "/file", "a"),
    "truncate": lambda dir: os.truncate(dir + "/file", 0),
    "unlink": lambda dir: os.unlink(dir + "/file"),
    "rename": lambda dir: os.rename(dir + "/file", dir + "/renamed"),
    "replace": lambda dir: os.rename("own", dir + "/file"),
    "take": lambda dir: os.rename(dir + "/file", "taken"),
    "link in": lambda dir: os.link(dir + "/file", "linked"),
    "link out": lambda dir: os.link("own", dir + "/linked"),
    "chmod": lambda dir: os.chmod(dir + "/file", 0),
    "chown": lambda dir: os.chown(dir + "/file", os.getuid(), os.getgid()),
    "times": lambda dir: os.utime(dir + "/file", (1, 1)),
    "attribute": lambda dir: os.setxattr(dir + "/file", "user.escaped", b"1"),
    "mkdir": lambda dir: os.mkdir(dir + "/made"),
    "symlink": lambda dir: os.symlink("x", dir + "/made-link"),
    "fifo": lambda dir: os.mkfifo(dir + "/made-fifo"),
    "by a descriptor": lambda dir: os.fchmod(os.open(dir + "/file", os.O_RDONLY), 0),
    "again by a descriptor": lambda dir: write("/proc/self/fd/%d" % os.open(dir + "/file", os.O_RDONLY)),
}


def by_link():
    if not os.path.islink("way"):
        os.symlink(OUTSIDE, "way")
    return "way"


WAYS = {
    "the path": lambda: OUTSIDE,
    "a link in the base": by_link,
    "/proc/1/root": lambda: "/proc/1/root" + OUTSIDE,
}
for way, find in WAYS.items():
    for name, operation in OPERATIONS.items():
        ATTEMPTS.append((f"{name} by {way}", lambda find=find, operation=operation: operation(find())))

for pid in (VICTIM, SERVER):
    ATTEMPTS.append((f"the root of {pid}", lambda pid=pid: write(f"/proc/{pid}/root{OUTSIDE}/file")))
    ATTEMPTS.append((f"the directory of {pid}", lambda pid=pid: write(f"/proc/{pid}/cwd/escaped")))
    ATTEMPTS.append((f"kill {pid}", lambda pid=pid: os.kill(pid, signal.SIGKILL)))
    ATTEMPTS.append((f"a pidfd of {pid}", lambda pid=pid: signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGKILL)))
    ATTEMPTS.append((f"ptrace {pid}", lambda pid=pid: call(101, 16, pid, 0, 0)))
    ATTEMPTS.append((f"limit {pid}", lambda pid=pid: __import__("resource").prlimit(pid, 4, (0, 0))))
    ATTEMPTS.append((f"namespaces of {pid}", lambda pid=pid: call(308, os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY), 0)))


@attempt("a signal to the group")
def _():
    # Those of the command ignore it.
    os.kill(0, signal.SIGUSR1)


@attempt("descriptors of process 1")
def _():
    for name in os.listdir("/proc/1/fd"):
        write("/proc/1/fd/" + name)


@attempt("the memory of process 1")
def _():
    os.open("/proc/1/mem", os.O_RDWR)


@attempt("descriptors of the caller")
def _():
    for number in range(3, 1024):
        try:
            dir = f"/proc/self/fd/{number}"
            if os.path.isdir(dir):
                write(dir + "/escaped")
        except OSError:
            pass


@attempt("the device of the mount")
def _():
    device = os.open("/dev/fuse", os.O_RDWR)
    for number in range(64):
        try:
            __import__("fcntl").ioctl(device, 0x8004E500, number.to_bytes(4, "little"))
            raise RuntimeError(f"cloned {number}")
        except OSError:
            pass


@attempt("an abstract socket")
def _():
    socket.socket(socket.AF_UNIX).connect("\0" + SOCKET)


@attempt("an abstract datagram")
def _():
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"escaped", "\0" + SOCKET + "-datagrams")


@attempt("a file handle")
def _():
    handle = ctypes.create_string_buffer(136)
    ctypes.memmove(handle, (128).to_bytes(4, "little"), 4)
    mount = ctypes.c_int()
    path = os.open(OUTSIDE + "/file", os.O_RDONLY)
    if libc.name_to_handle_at(path, b"", handle, ctypes.byref(mount), 0x1000) < 0:
        raise OSError(ctypes.get_errno(), "name_to_handle_at")
    file = libc.open_by_handle_at(os.open(OUTSIDE, os.O_RDONLY), handle, os.O_RDWR)
    if file < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    os.write(file, b"escaped")


@attempt("a chroot and a walk up")
def _():
    os.makedirs("cell", exist_ok=True)
    here = os.open("/", os.O_RDONLY)
    os.chroot("cell")
    os.fchdir(here)
    for _ in range(50):
        os.chdir("..")
    os.chroot(".")
    write(OUTSIDE + "/file")


@attempt("a key in the session's keyring")
def _():
    call(248, b"user", b"pathwalk-try-escaped", b"x", 1, -3)


@attempt("shared memory of System V")
def _():
    call(29, 0x70617468, 4096, 0o1666)


for name, number, args in [
    ("sethostname", 170, (b"escaped", 7)), ("setdomainname", 171, (b"escaped", 7)), ("swapoff", 168, (b"/swapfile",)),
    ("reboot", 169, (0x4321FEDC, 672274793, 0x4321FEDC, None)), ("init_module", 175, (b"x", 1, b"")),
    ("iopl", 172, (3,)), ("syslog", 103, (5, None, 0)), ("acct", 163, (b"own",)), ("quotactl", 179, (0, b"/", 0, None)),
    ("settimeofday", 164, (b"\0" * 16, None)), ("kexec_load", 246, (0, 0, None, 0)), ("umount of /", 166, (b"/", 2)),
    ("umount of the base", 166, (os.getcwd().encode(), 2)), ("umount of /tmp", 166, (b"/tmp", 2)),
    ("umount of /proc", 166, (b"/proc", 2)), ("umount of /dev", 166, (b"/dev", 2)),
    ("remount of /", 165, (b"none", b"/", None, 32, None)), ("remount of the bind of /", 165, (b"none", b"/", None, 32 | 4096, None)),
    ("mount of a tmpfs", 165, (b"none", OUTSIDE.encode(), b"tmpfs", 0, None)), ("unshare of mounts", 272, (0x20000,)),
    ("pivot_root", 155, (b".", b".")), ("a device", 133, (b"disk", 0o60666, 254 << 8)),
    ("fsopen", 430, (b"ext4", 0)), ("open_tree", 428, (-100, b"/", 1)),
]:
    ATTEMPTS.append((name, lambda number=number, args=args: call(number, *args)))

for path in ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/vm/swappiness", "/proc/sysrq-trigger",
             "/proc/sys/user/max_user_namespaces", "/proc/sys/fs/file-max", "/sys/kernel/uevent_helper", "/sys/power/state",
             "/sys/fs/cgroup/cgroup.procs", "/sys/kernel/mm/transparent_hugepage/enabled", "/dev/kmsg", "/dev/vda", "/dev/mem",
             "/dev/sda", "/dev/loop-control", "/dev/pts/0", "/dev/tty1", "/dev/snapshot", "/dev/kvm"]:
    ATTEMPTS.append((f"write {path}", lambda path=path: write(path)))

NESTED = "unshare -Urm --propagation private sh -c "
for name, script in {
    "write as root": f"echo escaped > {OUTSIDE}/file",
    "remount": f"mount -o remount,bind,rw / && echo escaped > {OUTSIDE}/file",
    "bind": f"mkdir -p b && mount --bind {OUTSIDE} b && echo escaped > b/file",
    "bind and remount": f"mkdir -p b && mount --bind {OUTSIDE} b; mount -o remount,bind,rw b; echo escaped > b/file",
    "recursive bind": f"mkdir -p b && mount --rbind / b && mount -o remount,bind,rw b && echo escaped > b{OUTSIDE}/file",
    "umount of the base": f"umount -l {os.getcwd()} && echo escaped > {os.getcwd()}/file",
    "umount of /tmp": "umount -l /tmp && ls /tmp/*",
    "umount of /proc": "umount -l /proc && echo escaped > /proc/sys/kernel/hostname",
    "umount of /dev": "umount -l /dev && echo escaped > /dev/kmsg",
    "overlay": f"mkdir -p u w m && mount -t overlay o -o lowerdir={OUTSIDE},upperdir={OUTSIDE},workdir=w m && echo escaped > m/file",
    "sysctl": "echo escaped > /proc/sys/kernel/core_pattern",
    "hostname": "hostname escaped",
    "a fresh /proc": "mount -t proc p /mnt && echo escaped > /mnt/sys/kernel/core_pattern",
    "a fresh /sys": "mount -t sysfs s /mnt && echo escaped > /mnt/kernel/uevent_helper",
    "a device": "mknod disk b 254 0 && echo escaped > disk",
    "a tmpfs with a device": "mount -t tmpfs t /mnt && mknod /mnt/disk b 254 0 && echo escaped > /mnt/disk",
    "setfattr": f"setfattr -n user.escaped -v 1 {OUTSIDE}/file",
}.items():
    shell("nested: " + name, NESTED + "'" + script + "'")
shell("nested: a fresh hierarchy of cgroups",
      "unshare -UrmC --propagation private sh -c 'mount -t cgroup2 c /mnt && mkdir /mnt/pathwalk-try-escaped'")
shell("nested: all processes", "unshare -Urpf --mount-proc sh -c 'kill -KILL -1'")

shell("sudo", f"sudo -n sh -c 'echo escaped > {OUTSIDE}/file'")
shell("su", f"su -c 'echo escaped > {OUTSIDE}/file' < /dev/null")
shell("nsenter", f"nsenter -t 1 -m sh -c 'echo escaped > {OUTSIDE}/file'")
shell("a suid shell", f"cp /bin/sh shell && chmod 4755 shell && ./shell -pc 'echo escaped > {OUTSIDE}/file'")
shell("losetup", "losetup -f own")
shell("debugfs", f"debugfs -w -R 'rm {OUTSIDE}/file' $(findmnt -no SOURCE /)")
shell("gdb", f"gdb -p {SERVER} -batch -ex 'call (int)unlink(\"{OUTSIDE}/file\")'")
shell("mount(8)", f"mount -o remount,rw / && echo escaped > {OUTSIDE}/file")
shell("fusermount3", f"fusermount3 -uz {os.getcwd()}")
shell("at", "echo 'touch escaped' | at now")
shell("crontab", f"echo '* * * * * touch {OUTSIDE}/escaped' | crontab -")
shell("systemd-run", f"systemd-run --user touch {OUTSIDE}/escaped")
shell("docker", "docker run --rm -v /:/host alpine true")


@attempt("typing for the caller")
def _():
    import fcntl, termios
    try:
        fcntl.ioctl(0, termios.TIOCSTI, b"x")
    except PermissionError:
        raise
    except OSError as error:
        raise RuntimeError(f"TIOCSTI is not refused: {error}")


signal.signal(signal.SIGUSR1, signal.SIG_IGN)
open("own", "w").write("own")
for name, function in ATTEMPTS:
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        try:
            function()
            result = "done"
        except RuntimeError as error:
            result = f"ESCAPED {error}"
        except BaseException as error:
            result = f"{type(error).__name__}: {error}"
        os.write(1, f"{name}: {result}\n".encode())
        os._exit(0)
    os.waitpid(child, 0)
print(len(ATTEMPTS), "attempts")
