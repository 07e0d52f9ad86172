//! Configuration space through the `config` file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use cxfw::pci::{Address, ConfigError, ConfigSource, ConfigSpace, SysfsConfig, SysfsSource};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use crate::tree::{Host, Place};

const ADDRESS: &str = "0000:03:00.0";

fn host_with_config(size: usize) -> (Host, Place) {
    let host = Host::empty();
    let mut bytes = vec![0; size];
    bytes[..4].copy_from_slice(&[0xb3, 0x15, 0x15, 0x10]);
    let card = host
        .function(ADDRESS, 0x15b3, 0x1015)
        .file("config", &bytes);
    (host, card)
}

fn address() -> Address {
    ADDRESS.parse().unwrap()
}

fn open(host: &Host) -> Result<Arc<dyn ConfigSpace>, ConfigError> {
    SysfsSource::new(&host.roots()).open(address())
}

fn refusal(host: &Host) -> String {
    open(host).err().unwrap().to_string()
}

#[test]
fn dwords_are_read_and_written_as_numbers_of_little_endian_space() {
    let (host, card) = host_with_config(4096);
    let config = open(&host).unwrap();
    assert_eq!(config.device(), ADDRESS);
    assert_eq!(config.read(0).unwrap(), 0x1015_15b3);
    config.write(0x58, 0x000f_0014).unwrap();
    assert_eq!(config.read(0x58).unwrap(), 0x000f_0014);
    config.write(0xffc, 1).unwrap();
    let bytes = fs::read(card.path().join("config")).unwrap();
    assert_eq!(bytes[0x58..0x5c], [0x14, 0x00, 0x0f, 0x00]);
    assert_eq!(bytes.len(), 4096);
}

#[test]
fn an_offset_that_is_no_dword_of_configuration_space_is_refused() {
    let (host, _card) = host_with_config(4096);
    let config = open(&host).unwrap();
    for offset in [0x41, 0x1000] {
        assert!(config.read(offset).is_err(), "{offset:#x}");
        assert!(config.write(offset, 0).is_err(), "{offset:#x}");
    }
}

#[test]
fn without_privileges_only_the_header_is_there_and_the_error_says_so() {
    let (host, _card) = host_with_config(64);
    let config = SysfsConfig::open_read_only(&host.roots(), address()).unwrap();
    assert_eq!(config.read(0x2c).unwrap(), 0);
    assert_eq!(
        config.read(0x60).unwrap_err().to_string(),
        "0000:03:00.0: read of config dword 0x060 failed: the file ends before it; \
         without CAP_SYS_ADMIN the kernel shows only the first 64 bytes"
    );
}

#[test]
fn a_short_read_is_an_error_and_not_a_value() {
    let (host, _card) = host_with_config(0x42);
    let config = open(&host).unwrap();
    assert_eq!(
        config.read(0x40).unwrap_err().to_string(),
        "0000:03:00.0: read of config dword 0x040 failed: 2 of 4 bytes came"
    );
}

#[test]
fn a_space_opened_for_reading_cannot_be_written() {
    let (host, card) = host_with_config(4096);
    let before = fs::read(card.path().join("config")).unwrap();
    let config = SysfsConfig::open_read_only(&host.roots(), address()).unwrap();
    assert!(matches!(
        config.write(0x58, 1),
        Err(ConfigError::Transfer {
            operation: "write",
            offset: 0x58,
            ..
        })
    ));
    assert_eq!(fs::read(card.path().join("config")).unwrap(), before);
}

#[test]
fn a_missing_config_file_is_named() {
    let host = Host::empty();
    host.function(ADDRESS, 0x15b3, 0x1015);
    let error = refusal(&host);
    assert!(error.starts_with("cannot open "), "{error}");
    assert!(error.contains("0000:03:00.0/config"), "{error}");
    assert!(error.contains("No such file"), "{error}");
}

#[test]
fn a_caller_who_is_not_root_is_told_that_the_file_is_not_writable() {
    let (host, card) = host_with_config(4096);
    let path = card.path().join("config");
    fs::set_permissions(path, fs::Permissions::from_mode(0o444)).unwrap();
    let error = as_nobody(|| open(&host).err().unwrap());
    assert!(matches!(
        error,
        ConfigError::NotWritable { lockdown: None, .. }
    ));
    let text = error.to_string();
    assert!(text.contains("cannot be opened for writing"), "{text}");
}

#[test]
fn kernel_lockdown_is_named_before_anything_is_written() {
    let (host, card) = host_with_config(4096);
    let security = host.roots().sysfs.join("kernel/security");
    fs::create_dir_all(&security).unwrap();
    fs::write(
        security.join("lockdown"),
        "none [integrity] confidentiality\n",
    )
    .unwrap();
    let before = fs::read(card.path().join("config")).unwrap();
    let error = refusal(&host);
    assert!(error.ends_with("(kernel lockdown: integrity)"), "{error}");
    assert_eq!(fs::read(card.path().join("config")).unwrap(), before);
}

/// Runs on a thread that cannot override file permissions, whoever runs the tests.
fn as_nobody<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let mut sets = capabilities(None).unwrap();
            sets.effective.remove(CapabilitySet::DAC_OVERRIDE);
            set_capabilities(None, sets).unwrap();
            work()
        });
        thread.join().unwrap()
    })
}
