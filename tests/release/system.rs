//! Programs of the system: nginx serves a folder, tinyproxy stands in between.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A program that ends with its guard.
pub struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// What a test does where a program is not installed: it says so and passes, but not where all of
/// them have to be there.
pub fn skipped(program: &str) {
    let required = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!required, "{program} is not installed");
    println!("skipped: {program} is not installed");
}

/// Starts a program and waits until it listens; `None` where it is not installed.
fn start(program: &str, arguments: &[&str], port: u16) -> Option<Running> {
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(child) = child else {
        skipped(program);
        return None;
    };
    let running = Running(child);
    let since = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(
            since.elapsed() < Duration::from_secs(10),
            "{program} does not listen"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(running)
}

/// nginx over `folder`; its own files go to `work`. It is one process, so that none is left when
/// it is ended.
pub fn nginx(folder: &Path, work: &Path, port: u16) -> Option<Running> {
    fs::create_dir_all(work).unwrap();
    let (root, dir) = (folder.display(), work.display());
    let user = if rustix::process::geteuid().is_root() {
        "user root;"
    } else {
        ""
    };
    let config = format!(
        "{user} daemon off; master_process off; pid {dir}/pid; error_log {dir}/error.log;\n\
         events {{}}\n\
         http {{ access_log off; client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy;\n\
         fastcgi_temp_path {dir}/fastcgi; uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;\n\
         server {{ listen 127.0.0.1:{port}; root {root}; }} }}\n"
    );
    let path = work.join("nginx.conf");
    fs::write(&path, config).unwrap();
    let prefix = work.to_str().unwrap();
    start("nginx", &["-p", prefix, "-c", path.to_str().unwrap()], port)
}

/// A proxy that allows CONNECT to any port of this host.
pub fn tinyproxy(work: &Path, port: u16) -> Option<Running> {
    fs::create_dir_all(work).unwrap();
    let path = work.join("tinyproxy.conf");
    let config = format!("Port {port}\nListen 127.0.0.1\nTimeout 10\nAllow 127.0.0.1\n");
    fs::write(&path, config).unwrap();
    start("tinyproxy", &["-d", "-c", path.to_str().unwrap()], port)
}
