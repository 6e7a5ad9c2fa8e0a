//! Addresses that may not be called. What counts is the address that a connection is made to, not how a URL is
//! written: a name can point anywhere.

use std::fmt;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec;

use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use tower_service::Service;

/// Where metadata services are that are not link-local: AWS's by IPv6, and that of Alibaba Cloud.
const METADATA: [IpAddr; 2] = [
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
];

/// Whether an address is link-local, or that of a metadata service: what is there trusts everything on this machine,
/// and gives it credentials.
pub(crate) fn is_local_to_link(address: IpAddr) -> bool {
    let address = embedded(address);
    METADATA.contains(&address)
        || match address {
            IpAddr::V4(address) => address.is_link_local(),
            IpAddr::V6(address) => address.is_unicast_link_local(),
        }
}

/// The IPv4 address that an IPv6 address leads to, if it is one of those (`::ffff:0:0/96`, `64:ff9b::/96`).
fn embedded(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(translated) if translated.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0] => {
            let [.., a, b, c, d] = translated.octets();
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        canonical => canonical,
    }
}

/// The refusal of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("link-local addresses and those of metadata services are always refused")
    }
}

impl std::error::Error for Refused {}

/// Resolves names, without the addresses that may not be called.
#[derive(Debug, Clone)]
pub(crate) struct Resolver {
    system: GaiResolver,
    link_local: bool,
}

impl Resolver {
    pub(crate) fn new(link_local: bool) -> Self {
        Self { system: GaiResolver::new(), link_local }
    }
}

type Boxed = Box<dyn std::error::Error + Send + Sync>;

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = Boxed;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Boxed>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Boxed>> {
        self.system.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (resolving, link_local) = (self.system.call(name), self.link_local);
        Box::pin(async move { permitted(resolving.await?.collect(), link_local) })
    }
}

fn permitted(
    mut found: Vec<SocketAddr>,
    link_local: bool,
) -> Result<vec::IntoIter<SocketAddr>, Boxed> {
    let some = !found.is_empty();
    found.retain(|address| link_local || !is_local_to_link(address.ip()));
    if some && found.is_empty() { Err(Refused.into()) } else { Ok(found.into_iter()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let check = |text: &str, expected: bool| {
            let address = text.parse().expect("an address");
            assert_eq!(is_local_to_link(address), expected, "{text}");
        };
        for refused in [
            "169.254.169.254",
            "169.254.170.2",
            "169.254.0.1",
            "100.100.100.200",
            "fe80::1",
            "febf::1",
            "fd00:ec2::254",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
        ] {
            check(refused, true);
        }
        for allowed in
            ["127.0.0.1", "10.0.0.1", "192.168.0.1", "8.8.8.8", "::1", "fd00::1", "fec0::1"]
        {
            check(allowed, false);
        }
    }

    #[test]
    fn names_lead_only_to_what_is_permitted() {
        let all: Vec<SocketAddr> =
            ["169.254.169.254:80", "10.0.0.1:80"].map(|text| text.parse().expect("one")).into();
        let found = permitted(all.clone(), false).expect("one is permitted");
        assert_eq!(found.as_slice(), &all[1..]);
        assert_eq!(permitted(all.clone(), true).expect("both").as_slice(), all);
        let refused = permitted(all[..1].to_vec(), false).expect_err("none is permitted");
        assert!(refused.is::<Refused>());
        assert_eq!(permitted(Vec::new(), false).expect("nothing").len(), 0);
    }
}
