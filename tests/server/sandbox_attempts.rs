//! What is tried from within the sandbox. The tests of `sandbox` start this binary again, held, with the name of an
//! attempt in the environment; alone, the test below does nothing.

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};

use nix::libc;
use nix::sys::signal::kill;
use nix::unistd::Pid;

/// Name of the variable that says what to try.
pub(crate) const ATTEMPT: &str = "BOBBIN_TEST_ATTEMPT";
/// Name of the variable with what to try it on.
pub(crate) const OBJECT: &str = "BOBBIN_TEST_OBJECT";
/// Name of this test.
pub(crate) const NAME: &str = "sandbox_attempts::one_attempt";

#[expect(
    clippy::disallowed_methods,
    reason = "how a test that starts itself again is told what to do"
)]
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Prints `held:` or `did it` for the attempt that was asked for.
#[test]
fn one_attempt() {
    let Some(attempt) = told(ATTEMPT) else { return };
    let object = PathBuf::from(told(OBJECT).unwrap());
    match try_it(&attempt, &object) {
        Ok(()) => println!("\n{attempt}: did it"),
        Err(error) => println!("\n{attempt}: held: {error}"),
    }
}

fn try_it(attempt: &str, object: &Path) -> std::io::Result<()> {
    let pid = || Pid::from_raw(object.to_str().unwrap().parse().unwrap());
    let name = || object.to_str().unwrap();
    match attempt {
        "write" => std::fs::write(object, "x"),
        "append" => std::fs::OpenOptions::new()
            .append(true)
            .open(object)?
            .write_all(b"x"),
        "empty" => nix::unistd::truncate(object, 0).map_err(Into::into),
        "remove" => std::fs::remove_file(object),
        "make directory" => std::fs::create_dir(object.with_extension("d")),
        "make link" => std::os::unix::fs::symlink("/etc", object.with_extension("l")),
        "make pipe" => nix::unistd::mkfifo(&object.with_extension("p"), nix::sys::stat::Mode::S_IRWXU)
            .map_err(Into::into),
        "read" => std::fs::File::open(object)?.read(&mut [0; 1]).map(drop),
        "write through a link" => {
            std::os::unix::fs::symlink(object, "way-out")?;
            std::fs::write("way-out", "x")
        }
        "write through a second name" => {
            std::fs::hard_link(object, "second-name")?;
            std::fs::write("second-name", "x")
        }
        "move it here" => std::fs::rename(object, "moved"),
        "write through /proc/self/root" => {
            std::fs::write(Path::new("/proc/self/root").join(&name()[1..]), "x")
        }
        "write through dots" => std::fs::write(Path::new(".").join("../".repeat(20)).join(&name()[1..]), "x"),
        "write from a thread" => {
            let object = object.to_owned();
            std::thread::spawn(move || std::fs::write(object, "x"))
                .join()
                .unwrap()
        }
        "trace" => nix::sys::ptrace::attach(pid()).map_err(Into::into),
        "read memory" => {
            let mut buffer = [0; 8];
            let mut local = [std::io::IoSliceMut::new(&mut buffer)];
            let remote = [nix::sys::uio::RemoteIoVec { base: 4096, len: 8 }];
            nix::sys::uio::process_vm_readv(pid(), &mut local, &remote)?;
            Ok(())
        }
        "signal" => kill(pid(), None).map_err(Into::into),
        "read its environment" => std::fs::read(format!("/proc/{}/environ", name())).map(drop),
        "open its memory" => std::fs::File::open(format!("/proc/{}/mem", name())).map(drop),
        "enter its root" => std::fs::read_dir(format!("/proc/{}/root", name())).map(drop),
        "new namespace" => {
            nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWUSER | nix::sched::CloneFlags::CLONE_NEWNS)
                .map_err(Into::into)
        }
        "mount" => nix::mount::mount(
            Some("none"),
            ".",
            Some("tmpfs"),
            nix::mount::MsFlags::empty(),
            None::<&str>,
        )
        .map_err(Into::into),
        "connect" => TcpStream::connect(name()).map(drop),
        "listen" => std::net::TcpListener::bind("127.0.0.1:0").map(drop),
        "datagram" => UdpSocket::bind("127.0.0.1:0")?.send_to(b"x", name()).map(drop),
        "local socket" => UnixStream::connect(object).map(drop),
        "any local socket" => any_answers(&std::fs::read_to_string(object)?),
        "abstract socket" => {
            let address = std::os::unix::net::SocketAddr::from_abstract_name(name())?;
            UnixStream::connect_addr(&address).map(drop)
        }
        "serve itself" => serve_itself(),
        "serve one" => {
            let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
            std::fs::write(object, listener.local_addr()?.to_string())?;
            listener.accept().map(drop)
        }
        "pair" => UnixStream::pair().map(drop),
        "message from a pair" => UnixDatagram::pair()?.0.send_to(b"x", object).map(drop),
        "raw socket" => nix::sys::socket::socket(
            nix::sys::socket::AddressFamily::Netlink,
            nix::sys::socket::SockType::Raw,
            nix::sys::socket::SockFlag::empty(),
            None,
        )
        .map(drop)
        .map_err(Into::into),
        "kernel socket" => any_kernel_socket(),
        "attach shared memory" => attach(pid().as_raw()),
        "make shared memory" => {
            let made = raw(libc::SYS_shmget, [0, 4096, i64::from(libc::IPC_CREAT | 0o600)])?;
            raw(libc::SYS_shmctl, [made, i64::from(libc::IPC_RMID), 0]).map(drop)
        }
        "make a queue" => {
            let made = raw(libc::SYS_msgget, [0, i64::from(libc::IPC_CREAT | 0o600), 0])?;
            raw(libc::SYS_msgctl, [made, i64::from(libc::IPC_RMID), 0]).map(drop)
        }
        "ring" => call(libc::SYS_io_uring_setup),
        "other arrangement" => call(libc::SYS_socket | 0x4000_0000),
        other => panic!("{other} is no attempt"),
    }
}

/// Speaks to each local socket of a list.
fn any_answers(list: &str) -> std::io::Result<()> {
    let answers = |path: &&str| {
        let spoken = UnixDatagram::unbound().and_then(|socket| socket.send_to(b"x", path));
        UnixStream::connect(path).is_ok() || spoken.is_ok()
    };
    let answered: Vec<_> = list.lines().filter(answers).collect();
    if answered.is_empty() {
        return Err(std::io::ErrorKind::NotConnected.into());
    }
    println!("answered: {answered:?}");
    Ok(())
}

/// Makes a socket to devices, to the kernel's modules or to another machine on this one.
fn any_kernel_socket() -> std::io::Result<()> {
    for (family, kind, protocol) in [
        (libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_KOBJECT_UEVENT),
        (libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_GENERIC),
        (libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_NETFILTER),
        (libc::AF_VSOCK, libc::SOCK_STREAM, 0),
        (libc::AF_ALG, libc::SOCK_SEQPACKET, 0),
    ] {
        let made = raw(libc::SYS_socket, [family, kind, protocol].map(i64::from));
        // This kernel may lack the family.
        if made.is_ok() || made.is_err_and(|error| error.raw_os_error() != Some(libc::EPERM)) {
            println!("{family} {protocol}");
            return Ok(());
        }
    }
    Err(std::io::ErrorKind::PermissionDenied.into())
}

/// Speaks to itself in each way that programs and their tests do.
fn serve_itself() -> std::io::Result<()> {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let Ok(listener) = std::net::TcpListener::bind(address) else {
            assert!(address.starts_with('['), "this kernel has IPv4 at least");
            continue;
        };
        let mut stream = TcpStream::connect(listener.local_addr()?)?;
        stream.write_all(b"hello")?;
        drop(stream);
        let mut text = String::new();
        listener.accept()?.0.read_to_string(&mut text)?;
        assert_eq!(text, "hello");
    }
    let udp = UdpSocket::bind("127.0.0.1:0")?;
    udp.send_to(b"x", udp.local_addr()?)?;
    udp.recv(&mut [0; 1])?;
    for path in ["/tmp/own.sock", "own.sock"] {
        drop(std::fs::remove_file(path));
        let listener = std::os::unix::net::UnixListener::bind(path)?;
        UnixStream::connect(path)?;
        listener.accept()?;
    }
    // What a lock of several processes, or their memory, is made of.
    std::fs::write("/dev/shm/own", "x")?;
    std::fs::remove_file("/dev/shm/own")?;
    let made = raw(libc::SYS_shmget, [0, 4096, i64::from(libc::IPC_CREAT | 0o600)])?;
    raw(libc::SYS_shmctl, [made, i64::from(libc::IPC_RMID), 0])?;
    // Interfaces are listed through this; no other kind of kernel socket is there.
    raw(
        libc::SYS_socket,
        [i64::from(libc::AF_NETLINK), i64::from(libc::SOCK_RAW), 0],
    )?;
    for (family, protocol) in [
        (libc::AF_NETLINK, libc::NETLINK_KOBJECT_UEVENT),
        (libc::AF_INET, libc::IPPROTO_SCTP),
        (libc::AF_VSOCK, 0),
        (libc::AF_ALG, 0),
        (libc::AF_PACKET, 0),
    ] {
        let arguments = [family, libc::SOCK_STREAM, protocol].map(i64::from);
        let error = raw(libc::SYS_socket, arguments).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EPERM), "{family} {protocol}");
    }
    Ok(())
}

fn call(number: i64) -> std::io::Result<()> {
    raw(number, [0; 3]).map(drop)
}

#[expect(
    unsafe_code,
    reason = "calls that no library makes; all arguments are numbers"
)]
pub(crate) fn raw(number: i64, arguments: [i64; 3]) -> std::io::Result<i64> {
    let [a, b, c] = arguments;
    // SAFETY: none of these calls touches memory of this process with arguments that are small numbers.
    let done = unsafe { libc::syscall(number, a, b, c, 0, 0, 0) };
    if done < 0 {
        Err(std::io::Error::last_os_error())
    } else {
        Ok(done)
    }
}

#[expect(unsafe_code, reason = "memory that is shared by a number has no safe form")]
fn attach(number: i32) -> std::io::Result<()> {
    // SAFETY: the kernel chooses the place; nothing is read or written there.
    let place = unsafe { libc::shmat(number, std::ptr::null(), libc::SHM_RDONLY) };
    if place.addr() == usize::MAX {
        Err(std::io::Error::last_os_error())
    } else {
        Ok(())
    }
}
