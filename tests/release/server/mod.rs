//! A web server for tests on loopback, whose every answer can be spoiled on purpose.
//!
//! One thread a connection, one request a connection. TLS with certificates of an authority that
//! is made for the run ([`certificate`]).

pub mod certificate;

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use certificate::{Authority, Kind};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// What was asked.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// How a body is spoiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None,
    /// The connection ends after this many bytes.
    CutAt(usize),
    /// Nothing more comes after this many bytes, and the connection stays.
    StallAt(usize),
    /// One byte each time this has passed.
    Trickle(Duration),
}

/// What is said of a body's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    Real,
    Announced(u64),
    /// Nothing: the body ends with the connection.
    Untold,
}

/// What is answered.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub length: Length,
    pub fault: Fault,
}

impl Reply {
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
            length: Length::Real,
            fault: Fault::None,
        }
    }

    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub fn fault(mut self, fault: Fault) -> Self {
        self.fault = fault;
        self
    }

    pub fn length(mut self, length: Length) -> Self {
        self.length = length;
        self
    }

    pub fn redirect(to: &str) -> Self {
        Self::new(302, "moved").with("Location", to)
    }

    pub fn html(status: u16, title: &str) -> Self {
        let page = format!("<!DOCTYPE html>\n<html><head><title>{title}</title></head></html>\n");
        Self::new(status, page).with("Content-Type", "text/html; charset=utf-8")
    }

    /// A file, or the part of it that is asked for, as a web server hands it out.
    pub fn file(request: &Request, bytes: &[u8], tag: &str) -> Self {
        let plain = Self::new(200, bytes).with("ETag", tag);
        let from = request.header("range").and_then(|range| {
            range
                .strip_prefix("bytes=")?
                .strip_suffix('-')?
                .parse::<usize>()
                .ok()
        });
        match from {
            Some(_) if request.header("if-range").is_some_and(|asked| asked != tag) => plain,
            Some(from) if from >= bytes.len() => Self::new(416, ""),
            Some(from) => {
                let range = format!("bytes {from}-{}/{}", bytes.len() - 1, bytes.len());
                Self::new(206, &bytes[from..])
                    .with("ETag", tag)
                    .with("Content-Range", range)
            }
            None => plain,
        }
    }
}

/// A running server. It ends with the test's process; each test has its own.
pub struct Server {
    pub url: String,
    pub port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
    stop: Arc<AtomicBool>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Server {
    /// With TLS and a certificate of this kind.
    pub fn start(
        authority: &Authority,
        kind: Kind,
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::run(Some(Arc::new(authority.server(kind))), handler)
    }

    /// Without TLS.
    pub fn plain(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::run(None, handler)
    }

    fn run(
        tls: Option<Arc<ServerConfig>>,
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let scheme = if tls.is_some() { "https" } else { "http" };
        let (seen, ended) = (Arc::clone(&requests), Arc::clone(&stop));
        let handler = Arc::new(handler);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (handler, seen, tls) = (Arc::clone(&handler), Arc::clone(&seen), tls.clone());
                thread::spawn(move || {
                    // A client that goes away is what many tests are about.
                    let _ = converse(stream, tls, &seen, handler.as_ref());
                });
            }
        });
        Self {
            url: format!("{scheme}://127.0.0.1:{port}"),
            port,
            requests,
            stop,
        }
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Methods and paths of every request so far.
    pub fn asked(&self) -> Vec<String> {
        let requests = self.requests();
        let line = |request: &Request| format!("{} {}", request.method, request.path);
        requests.iter().map(line).collect()
    }
}

trait Stream: Read + Write {
    /// Ends it in good order: whoever reads knows that this was all.
    fn finish(&mut self) -> io::Result<()>;
}

impl Stream for TcpStream {
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for StreamOwned<ServerConnection, TcpStream> {
    fn finish(&mut self) -> io::Result<()> {
        self.conn.send_close_notify();
        self.flush()
    }
}

fn converse(
    socket: TcpStream,
    tls: Option<Arc<ServerConfig>>,
    seen: &Mutex<Vec<Request>>,
    handler: &dyn Fn(&Request) -> Reply,
) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let raw = socket.try_clone()?;
    let stream: Box<dyn Stream> = match tls {
        None => Box::new(socket),
        Some(config) => {
            let connection = ServerConnection::new(config).map_err(io::Error::other)?;
            Box::new(StreamOwned::new(connection, socket))
        }
    };
    let mut stream = BufReader::new(stream);
    let Some(request) = read_request(&mut stream)? else {
        return Ok(());
    };
    seen.lock().unwrap().push(request.clone());
    let reply = handler(&request);
    write_reply(stream.get_mut().as_mut(), &reply)?;
    match reply.fault {
        Fault::None => stream.get_mut().finish()?,
        // Longer than any test waits; the thread ends with the process.
        Fault::StallAt(_) => thread::sleep(Duration::from_secs(60)),
        Fault::CutAt(_) | Fault::Trickle(_) => {}
    }
    raw.shutdown(Shutdown::Both)
}

fn read_request(stream: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let mut word = || words.next().unwrap_or_default().to_owned();
    let mut request = Request {
        method: word(),
        path: word(),
        headers: BTreeMap::new(),
        body: Vec::new(),
    };
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        request
            .headers
            .insert(name.trim().to_lowercase(), value.trim().to_owned());
    }
    let length = request
        .header("content-length")
        .and_then(|length| length.parse().ok());
    request.body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut request.body)?;
    Ok(Some(request))
}

fn write_reply(stream: &mut dyn Stream, reply: &Reply) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Made\r\nConnection: close\r\n", reply.status);
    let length = match reply.length {
        Length::Real => Some(reply.body.len() as u64),
        Length::Announced(length) => Some(length),
        Length::Untold => None,
    };
    if let Some(length) = length {
        head.push_str(&format!("Content-Length: {length}\r\n"));
    }
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    match reply.fault {
        Fault::None => stream.write_all(&reply.body)?,
        Fault::CutAt(at) | Fault::StallAt(at) => {
            stream.write_all(&reply.body[..at.min(reply.body.len())])?;
        }
        Fault::Trickle(pause) => {
            for byte in reply.body.chunks(1) {
                stream.write_all(byte)?;
                stream.flush()?;
                thread::sleep(pause);
            }
        }
    }
    stream.flush()
}
