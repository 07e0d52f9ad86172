//! The address of a PCI function, as sysfs and lspci write it.

use std::fmt;
use std::str::FromStr;

/// Address of one PCI function, `0000:03:00.0`. The domain has up to 32 bits (virtual domains
/// such as `10002:01:00.0`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// PCI domain (segment).
    pub domain: u32,
    /// Bus number.
    pub bus: u8,
    /// Device number, 0 to 31.
    pub device: u8,
    /// Function number, 0 to 7.
    pub function: u8,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!(
            "{:04x}:{:02x}:{:02x}.{:x}",
            self.domain, self.bus, self.device, self.function
        );
        f.pad(&text)
    }
}

/// A text that is no PCI address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a PCI address (such as 0000:03:00.0 or 03:00.0)")]
pub struct NotAnAddress(pub String);

impl FromStr for Address {
    type Err = NotAnAddress;

    /// `[DOMAIN:]BUS:DEVICE.FUNCTION`, all hexadecimal; the domain defaults to 0.
    fn from_str(text: &str) -> Result<Self, NotAnAddress> {
        let refuse = || NotAnAddress(text.to_owned());
        let hex = |part: &str, max: u32| -> Result<u32, NotAnAddress> {
            if part.is_empty() || part.len() > 8 || !part.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(refuse());
            }
            let value = u32::from_str_radix(part, 16).map_err(|_| refuse())?;
            if value > max {
                Err(refuse())
            } else {
                Ok(value)
            }
        };
        let byte = |part, max| hex(part, max).and_then(|v| u8::try_from(v).map_err(|_| refuse()));
        let (front, function) = text.rsplit_once('.').ok_or_else(refuse)?;
        let (front, device) = front.rsplit_once(':').ok_or_else(refuse)?;
        let (domain, bus) = front.rsplit_once(':').unwrap_or(("0", front));
        Ok(Self {
            domain: hex(domain, u32::MAX)?,
            bus: byte(bus, 0xff)?,
            device: byte(device, 0x1f)?,
            function: byte(function, 7)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_long_domains_survive() {
        let address: Address = "10002:01:00.0".parse().unwrap();
        assert_eq!(address.domain, 0x10002);
        assert_eq!(address.to_string(), "10002:01:00.0");
        let short: Address = "03:00.1".parse().unwrap();
        assert_eq!(short.to_string(), "0000:03:00.1");
    }

    #[test]
    fn other_texts_are_no_addresses() {
        for text in [
            "",
            "03:00",
            "03:20.0",
            "0000:03:00.8",
            "x:03:00.0",
            "mlx5_0",
            "::.",
            "+3:0.0",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
