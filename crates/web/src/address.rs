//! Decides which addresses are public. Pure.
//!
//! All other addresses (this machine, its networks, cloud metadata services) are closed to a model, because services
//! there trust every client that reaches them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns the IPv4 address that an IPv6 address leads to, and any other address as it is.
pub fn canonical(address: IpAddr) -> IpAddr {
    let IpAddr::V6(whole) = address else {
        return address;
    };
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match whole.segments() {
        // The unspecified address and this machine.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => address,
        // Mapped, compatible, translated (RFC 6052), 6to4.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => v4(high, low),
        _ => address,
    }
}

/// Returns whether an address belongs to the public internet.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match canonical(address) {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_unspecified()
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_documentation()
        // This network, carrier-grade NAT, protocol assignments, benchmarks, reserved (RFC 6890).
        || a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a, b, c) == (192, 0, 0)
        || (a == 198 && (18..20).contains(&b))
        || a >= 240;
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // Locally translated, Teredo and other protocol assignments, documentation.
        [0x64, 0xff9b, 1, ..] | [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // The only part of the address space that is assigned for global use.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("93.184.216.34", true)]
    #[case("8.8.8.8", true)]
    #[case("100.63.255.255", true)]
    #[case("172.32.0.1", true)]
    #[case("0.0.0.0", false)]
    #[case("0.1.2.3", false)]
    #[case("127.0.0.1", false)]
    #[case("127.255.255.254", false)]
    #[case("10.0.0.1", false)]
    #[case("172.16.0.1", false)]
    #[case("172.31.255.255", false)]
    #[case("192.168.1.1", false)]
    #[case::a_clouds_own("169.254.169.254", false)]
    #[case("100.64.0.1", false)]
    #[case("192.0.0.1", false)]
    #[case("192.0.2.1", false)]
    #[case("198.18.0.1", false)]
    #[case("224.0.0.1", false)]
    #[case("240.0.0.1", false)]
    #[case("255.255.255.255", false)]
    #[case("2606:4700::1111", true)]
    #[case("::", false)]
    #[case("::1", false)]
    #[case("fc00::1", false)]
    #[case("fd12::1", false)]
    #[case("fe80::1", false)]
    #[case("fec0::1", false)]
    #[case("ff02::1", false)]
    #[case("2001:db8::1", false)]
    #[case::teredo("2001:0:1::1", false)]
    #[case::mapped("::ffff:127.0.0.1", false)]
    #[case::mapped_public("::ffff:8.8.8.8", true)]
    #[case::compatible("::10.0.0.1", false)]
    #[case::translated("64:ff9b::169.254.169.254", false)]
    #[case::translated_public("64:ff9b::8.8.8.8", true)]
    #[case::locally_translated("64:ff9b:1::8.8.8.8", false)]
    #[case::six_to_four("2002:7f00:1::", false)]
    #[case::six_to_four_public("2002:808:808::", true)]
    fn only_what_belongs_to_everybody_is_public(#[case] address: &str, #[case] expected: bool) {
        assert_eq!(is_public(address.parse().unwrap()), expected);
    }
}
