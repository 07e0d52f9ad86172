//! The site's configuration as the commands meet it.

mod cli_common;

use std::fs;

use cli_common::{TestLab, run};

#[test]
fn a_mistake_stops_the_command_with_file_line_and_column() {
    let lab = TestLab::new();
    let file = lab.beside("config.toml");
    fs::write(&file, "cache = \"/x\"\n[timeouts]\nstall = \"long\"\n").unwrap();
    let config = format!("--config={}", file.display());
    let ran = lab.run(&["query", &config, "--format", "json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let error = &ran.json()["errors"][0];
    assert_eq!(error["code"], "bad_config");
    let message = error["message"].as_str().unwrap();
    let place = format!("{}:3:9: invalid type: string \"long\"", file.display());
    assert!(message.starts_with(&place), "{message}");
    let ran = lab.run(&["query", "--config", "/nowhere/config.toml"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("cannot read /nowhere/config.toml"),
        "{ran:?}"
    );
    // What does not ask it works on.
    assert_eq!(run(&["man", &config]).code, Some(0));
}

#[test]
fn values_that_make_no_sense_are_told_with_their_place() {
    let lab = TestLab::new();
    let file = lab.beside("config.toml");
    let config = format!("--config={}", file.display());
    for (text, place, told) in [
        ("proxy = \"socks5://x\"\n", "1:9", "not supported"),
        (
            "\nallowed_hosts = [\"https://x.example/\"]\n",
            "2:18",
            "is no host",
        ),
        ("[[source]]\nonline = \"ftp://x\"\n", "2:10", "only https"),
    ] {
        fs::write(&file, text).unwrap();
        let ran = lab.run(&["query", &config]);
        assert_eq!(ran.code, Some(1), "{text}: {ran:?}");
        let place = format!("{}:{place}: ", file.display());
        assert!(ran.stderr.contains(&place), "{text}: {ran:?}");
        assert!(ran.stderr.contains(told), "{text}: {ran:?}");
    }
}
