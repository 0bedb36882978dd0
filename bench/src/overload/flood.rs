//! Requests that arrive at their own rate, whether earlier ones have been answered or not.

use std::cell::RefCell;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::LocalSet;

use crate::failure::Failure;

/// Buffer for a response; a longer one is read in parts.
const RESPONSE_BYTES: usize = 64 << 10;

/// Time between two arrivals of requests.
const TICK: Duration = Duration::from_millis(1);

pub(super) struct Flood<'a> {
    pub(super) address: &'a str,
    pub(super) requests: &'a [Vec<u8>],
    /// Status of a successful response.
    pub(super) status: u16,
    /// Most requests in flight.
    pub(super) n_connections: usize,
    /// Rate of arrivals; `None` sends the next request after each response.
    pub(super) per_second: Option<f64>,
}

pub(super) struct Flooded {
    pub(super) sent_per_second: f64,
    pub(super) good_per_second: f64,
    pub(super) refused_per_second: f64,
}

#[derive(Default)]
struct Counts {
    n_sent: u64,
    n_good: u64,
    n_refused: u64,
    n_under_way: usize,
    fault: Option<String>,
}

impl Flood<'_> {
    /// Sends requests for this long, on a separate thread.
    pub(super) fn run(&self, period: Duration) -> Result<Flooded, Failure> {
        thread::scope(|scope| {
            let sending = scope.spawn(|| self.send(period));
            let sent = sending.join();
            sent.map_err(|_| Failure::Step("a flood panicked".to_owned())).flatten()
        })
    }

    fn send(&self, period: Duration) -> Result<Flooded, Failure> {
        // The other tenant's clients share the core and go first: this thread alone has a lower priority.
        let _ = rustix::process::nice(10);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|cause| Failure::Step(format!("no runtime: {cause}")))?;
        let counts = Rc::new(RefCell::new(Counts::default()));
        let began = Instant::now();
        LocalSet::new().block_on(&runtime, self.send_for(period, &counts));
        let seconds = began.elapsed().as_secs_f64();
        let counts = counts.borrow();
        match &counts.fault {
            Some(fault) => Err(Failure::WrongAnswer(fault.clone())),
            None => Ok(Flooded {
                sent_per_second: counts.n_sent as f64 / seconds,
                good_per_second: counts.n_good as f64 / seconds,
                refused_per_second: counts.n_refused as f64 / seconds,
            }),
        }
    }

    async fn send_for(&self, period: Duration, counts: &Rc<RefCell<Counts>>) {
        let arrivals = Rc::new(Semaphore::new(0));
        for nth in 0..self.n_connections {
            let arrivals = self.per_second.map(|_| Rc::clone(&arrivals));
            let request = self.requests[nth % self.requests.len()].clone();
            let (address, status) = (self.address.to_owned(), self.status);
            let counts = Rc::clone(counts);
            tokio::task::spawn_local(async move {
                let sent = send_all(&address, &request, status, arrivals.as_deref(), &counts).await;
                if let Err(fault) = sent {
                    counts.borrow_mut().fault = Some(fault);
                }
            });
        }
        let began = Instant::now();
        let mut n_arrived = 0.0;
        while began.elapsed() < period && counts.borrow().fault.is_none() {
            tokio::time::sleep(TICK).await;
            let Some(per_second) = self.per_second else { continue };
            let n_due = began.elapsed().as_secs_f64() * per_second - n_arrived;
            n_arrived += n_due.floor();
            // A request without a free connection is dropped.
            let n_taken = arrivals.available_permits() + counts.borrow().n_under_way;
            arrivals.add_permits((n_due as usize).min(self.n_connections.saturating_sub(n_taken)));
        }
    }
}

/// Repeats a request over one connection.
async fn send_all(
    address: &str,
    request: &[u8],
    status: u16,
    arrivals: Option<&Semaphore>,
    counts: &RefCell<Counts>,
) -> Result<(), String> {
    let failed = |cause: std::io::Error| format!("a connection of the flood failed: {cause}");
    let mut stream = TcpStream::connect(address).await.map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    let mut buffer = vec![0; RESPONSE_BYTES];
    loop {
        if let Some(arrivals) = arrivals {
            match arrivals.acquire().await {
                Ok(arrival) => arrival.forget(),
                Err(_) => return Ok(()),
            }
        }
        {
            let mut counts = counts.borrow_mut();
            counts.n_sent += 1;
            counts.n_under_way += 1;
        }
        stream.write_all(request).await.map_err(failed)?;
        let found = read_response(&mut stream, &mut buffer).await.map_err(failed)?;
        let mut counts = counts.borrow_mut();
        counts.n_under_way -= 1;
        match found {
            found if found == status => counts.n_good += 1,
            429 | 503 => counts.n_refused += 1,
            found => return Err(format!("{found} instead of {status}")),
        }
    }
}

/// Reads a response with a `Content-Length`; returns its status.
async fn read_response(stream: &mut TcpStream, buffer: &mut [u8]) -> std::io::Result<u16> {
    let bad = || std::io::Error::other("not a response with a length");
    let mut n_read = 0;
    let (status, n_bytes) = loop {
        let n = stream.read(&mut buffer[n_read..]).await?;
        if n == 0 {
            return Err(bad());
        }
        n_read += n;
        let Some(end) = buffer[..n_read].windows(4).position(|it| it == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).ok_or_else(bad)?;
        let length = head.lines().find_map(|it| it.strip_prefix("content-length: "));
        let length: usize = length.and_then(|it| it.parse().ok()).ok_or_else(bad)?;
        break (status, end + 4 + length);
    };
    while n_read < n_bytes {
        match stream.read(buffer).await? {
            0 => return Err(bad()),
            n => n_read += n,
        }
    }
    Ok(status)
}
