//! Which user and which socket are at the other end of a TCP connection within this machine, as the kernel
//! knows it.
//!
//! `NETLINK_SOCK_DIAG` looks one connection up, however many there are. Where it is not available (a sandbox may
//! refuse the address family), the table in `/proc/net/tcp` is read, which takes milliseconds.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddrV4};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The user that made the socket.
    pub(crate) uid: u32,
    /// As in the links of `/proc/PID/fd`. Never zero, as that of a socket that its process has closed is.
    pub(crate) inode: u64,
}

/// The owner of the socket at `end`, which is connected to `to`; none if it is closed.
pub(crate) fn of(end: SocketAddrV4, to: SocketAddrV4) -> io::Result<Option<Owner>> {
    let anyone = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
    match ask(end, to) {
        Ok(Some(owner)) => Ok(owner.is_open()),
        // A kernel that cannot look sockets up says the same of each, even of the one that listens.
        Ok(None) if ask(to, anyone).is_ok_and(|listener| listener.is_some()) => Ok(None),
        _ => Ok(read_table(end, to)?.and_then(Owner::is_open)),
    }
}

impl Owner {
    fn is_open(self) -> Option<Self> {
        (self.inode != 0).then_some(self)
    }
}

/// `struct nlmsghdr`
const HEAD_BYTES: usize = 16;
/// `struct inet_diag_req_v2`
const QUESTION_BYTES: usize = 56;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const AF_INET: u8 = 2;
const IPPROTO_TCP: u8 = 6;

fn ask(end: SocketAddrV4, to: SocketAddrV4) -> io::Result<Option<Owner>> {
    let protocol = Some(netlink::SOCK_DIAG);
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, protocol)?;
    send(&socket, &question(end, to), SendFlags::empty())?;
    let mut answer = [0; 512];
    // The kernel has answered when the question has been sent.
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::DONTWAIT)?;
    read_answer(&answer[..length], to)
}

/// Numbers of netlink are in the order of the machine, addresses and ports in that of the network.
fn question(end: SocketAddrV4, to: SocketAddrV4) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD_BYTES + QUESTION_BYTES);
    bytes.extend(((HEAD_BYTES + QUESTION_BYTES) as u32).to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    // Number of the question, and who asks: the kernel fills it in.
    bytes.extend([0; 8]);
    bytes.extend([AF_INET, IPPROTO_TCP, 0, 0]);
    // Sockets in every state.
    bytes.extend(u32::MAX.to_ne_bytes());
    bytes.extend(end.port().to_be_bytes());
    bytes.extend(to.port().to_be_bytes());
    for address in [end.ip(), to.ip()] {
        bytes.extend(address.octets());
        bytes.extend([0; 12]);
    }
    // Through any interface, and no cookie.
    bytes.extend([0; 4]);
    bytes.extend([0xff; 8]);
    bytes
}

/// `struct inet_diag_msg` behind the head.
fn read_answer(answer: &[u8], to: SocketAddrV4) -> io::Result<Option<Owner>> {
    let short = || io::Error::new(io::ErrorKind::InvalidData, "a short answer of netlink");
    let number = |at: usize| {
        let bytes = answer.get(at..at + 4).ok_or_else(short)?;
        Ok::<_, io::Error>(u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    let kind = answer.get(4..6).ok_or_else(short)?;
    if kind == NLMSG_ERROR.to_ne_bytes() {
        let error = number(HEAD_BYTES)?.cast_signed().wrapping_neg();
        let error = Errno::from_raw_os_error(error);
        return if error == Errno::NOENT { Ok(None) } else { Err(error.into()) };
    }
    // Without such a connection the kernel shows who listens at that end.
    if answer.get(22..24).ok_or_else(short)? != to.port().to_be_bytes() {
        return Ok(None);
    }
    Ok(Some(Owner { uid: number(80)?, inode: u64::from(number(84)?) }))
}

fn read_table(end: SocketAddrV4, to: SocketAddrV4) -> io::Result<Option<Owner>> {
    let (end, to) = (in_table(end), in_table(to));
    for line in BufReader::new(File::open("/proc/net/tcp")?).lines() {
        if let Some(owner) = read_line(&line?, &end, &to) {
            return Ok(Some(owner));
        }
    }
    Ok(None)
}

/// `  sl  local_address rem_address   st tx_queue:rx_queue tr:tm->when retrnsmt   uid  timeout inode …`
fn read_line(line: &str, end: &str, to: &str) -> Option<Owner> {
    let mut words = line.split_ascii_whitespace().skip(1);
    if (words.next()?, words.next()?) != (end, to) {
        return None;
    }
    let uid = words.nth(4)?.parse().ok()?;
    Some(Owner { uid, inode: words.nth(1)?.parse().ok()? })
}

fn in_table(address: SocketAddrV4) -> String {
    format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port())
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::os::fd::AsFd as _;

    use super::*;

    fn v4(address: SocketAddr) -> SocketAddrV4 {
        match address {
            SocketAddr::V4(address) => address,
            SocketAddr::V6(address) => panic!("{address}"),
        }
    }

    fn connected() -> (TcpListener, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (listener, stream)
    }

    #[test]
    fn both_ways_find_the_same_owner() {
        let (_listener, stream) = connected();
        let end = v4(stream.local_addr().unwrap());
        let to = v4(stream.peer_addr().unwrap());
        let inode = rustix::fs::fstat(stream.as_fd()).unwrap().st_ino;
        let owner = Owner { uid: rustix::process::getuid().as_raw(), inode };
        assert_eq!(of(end, to).unwrap(), Some(owner));
        assert_eq!(read_table(end, to).unwrap(), Some(owner));
    }

    #[test]
    fn a_closed_socket_has_no_owner() {
        let (listener, stream) = connected();
        let end = v4(stream.local_addr().unwrap());
        let to = v4(stream.peer_addr().unwrap());
        drop(stream);
        assert_eq!(of(end, to).unwrap(), None);
        // One that listens there is not at the other end of anything.
        let listener = v4(listener.local_addr().unwrap());
        assert_eq!(of(listener, to).unwrap(), None);
    }
}
