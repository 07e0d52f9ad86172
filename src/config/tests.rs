//! What a site may say, and what is said about its mistakes.

use super::*;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(Path::new("/etc/cxfw/config.toml"), text)
}

fn complaint(text: &str) -> String {
    let complaint = parse(text).unwrap_err().to_string();
    complaint
        .strip_prefix("/etc/cxfw/config.toml:")
        .unwrap()
        .to_owned()
}

#[test]
fn everything_a_site_can_say_is_understood() {
    let key = minisign::KeyPair::generate_unencrypted_keypair()
        .unwrap()
        .pk
        .to_base64();
    let config = parse(&format!(
        r#"
        cache = "/srv/cache"
        backup = "backup"
        cafile = ["site.pem", "/etc/other.pem"]
        proxy = "http://proxy.example:3128"
        no_proxy = ["mirror.example"]
        allowed_hosts = ["*.example"]
        keys = ["{key}"]

        [[source]]
        index = "https://mirror.example/fw/"
        name = "site"

        [[source]]
        index = "mirror"
        keys = []

        [[source]]
        online = ""

        [branches]
        "ConnectX-7" = "28.39.*"
        ConnectX6DX = "22."

        [timeouts]
        connect = 2
        stall = 0.5
        attempts = 1
        "#
    ))
    .unwrap();
    assert_eq!(config.cache.as_deref(), Some(Path::new("/srv/cache")));
    assert_eq!(
        config.backup.as_deref(),
        Some(Path::new("/etc/cxfw/backup"))
    );
    assert_eq!(
        config.ca_files,
        [Path::new("/etc/cxfw/site.pem"), Path::new("/etc/other.pem")]
    );
    assert!(config.allowed_hosts.contains("a.example"));
    let names: Vec<Arc<str>> = config.sources.iter().map(Source::name).collect();
    assert_eq!(
        names,
        ["site".into(), "/etc/cxfw/mirror".into(), "online".into()] as [Arc<str>; 3]
    );
    let signed: Vec<bool> = config
        .sources
        .iter()
        .filter_map(|source| match source {
            Source::Index(index) => Some(!index.keys.is_empty()),
            Source::Online { .. } => None,
        })
        .collect();
    assert_eq!(signed, [true, false]);
    assert!(
        matches!(&config.sources[2], Source::Online { server, key, .. }
        if server == VENDOR_SERVER && key == PUBLIC_KEY)
    );
    let lines: Vec<String> = config
        .branches
        .iter()
        .map(|(model, line)| format!("{} {line}", model.name))
        .collect();
    assert_eq!(lines, ["ConnectX7 28.39.*", "ConnectX6DX 22.*"]);
    assert_eq!(config.timeouts.connect.as_millis(), 2000);
    assert_eq!(config.timeouts.stall.as_millis(), 500);
    assert_eq!(config.timeouts.grace, Timeouts::default().grace);
    assert_eq!(config.retries.attempts, 1);
}

#[test]
fn the_example_in_the_documentation_is_a_configuration() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/config.toml");
    let config = Config::load(Some(&file)).unwrap();
    assert_eq!(config.sources.len(), 2);
    assert_eq!(config.timeouts, Timeouts::default());
    assert_eq!(config.retries, Retries::default());
}

#[test]
fn a_mistake_is_named_with_line_and_column() {
    assert!(
        complaint("cache = \"/x\"\nprxoy = \"y\"\n")
            .starts_with("2:1: unknown field `prxoy`, expected one of `cache`"),
        "{}",
        complaint("cache = \"/x\"\nprxoy = \"y\"\n")
    );
    assert_eq!(
        complaint("\ncache = 5\n"),
        "2:9: invalid type: integer `5`, expected path string"
    );
    assert_eq!(
        complaint("keys = [\"é\", \"nokey\"]").split(": `").next(),
        Some("1:9")
    );
    assert_eq!(
        complaint("[[source]]\nname = \"x\"\n"),
        "1:1: a source has either `index` or `online`"
    );
    assert_eq!(
        complaint("[[source]]\nindex = \"/x\"\nkey = \"k\"\n"),
        "3:7: `key` is for `online`; an index has `keys`"
    );
    assert!(
        complaint("[[source]]\nindex = \"ftp://x/\"\n").starts_with("2:9: `ftp://x/` is no index")
    );
    assert_eq!(
        complaint("[branches]\n\"ConnectX-77\" = \"28.39.*\"\n"),
        "2:1: `ConnectX-77` is no chip known here"
    );
    assert!(
        complaint("[branches]\n\"ConnectX-7\" = \"28.x\"\n")
            .starts_with("2:16: `28.x` is not a version prefix")
    );
    assert_eq!(
        complaint("[branches]\n\"ConnectX-7\" = \"22.39.*\"\n"),
        "2:16: 22.39.* is no line of ConnectX-7: its versions begin with 28"
    );
    assert_eq!(
        complaint("[branches]\n\"ConnectX-7\" = \"28\"\nConnectX7 = \"28\"\n"),
        "3:1: a second line for ConnectX-7"
    );
    assert_eq!(
        complaint("[[source]]\nonline = \"\"\n[[source]]\nonline = \"https://x.example\"\n"),
        "3:1: a second source with the name `online`"
    );
    assert_eq!(
        complaint("[timeouts]\nstall = -1\n"),
        "2:9: not a time of up to 86400 s"
    );
    assert_eq!(
        complaint("[timeouts]\nattempts = 0\n"),
        "2:12: not 1 to 1000 attempts"
    );
    assert!(complaint("[timeouts]\nstal = 1\n").starts_with("2:1: unknown field `stal`"));
    assert!(complaint("cache = \"/x\n").starts_with("1:"));
}

#[test]
fn a_site_need_not_say_anything_but_what_was_named_must_be_there() {
    assert!(parse("").unwrap().sources.is_empty());
    let error = Config::load(Some(Path::new("/nowhere/config.toml"))).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot read /nowhere/config.toml: "),
        "{error}"
    );
}
