//! Request shapes of the tools and programs that people measure with, cut at every byte offset: the answer to a
//! request does not depend on how it was cut into segments.

use std::net::SocketAddr;
use std::time::Duration;

use ringshot_e2e::ensure;
use ringshot_e2e::failure::{Outcome, shown};
use ringshot_e2e::parallel::check_all;
use ringshot_e2e::programs::{PATIENCE, each_engine};
use ringshot_e2e::raw::{End, Raw};

/// Long enough that the parts arrive as two segments, which is all that a cut needs.
const GAP: Duration = Duration::from_millis(1);

struct Shape {
    name: &'static str,
    bytes: &'static str,
    /// Status and body of each answer.
    answers: &'static [(u16, &'static str)],
    closes: bool,
}

const HELLO: (u16, &str) = (200, "hello world");

const SHAPES: &[Shape] = &[
    Shape {
        name: "ab",
        bytes: "GET / HTTP/1.0\r\nHost: 127.0.0.1:8080\r\nUser-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n",
        answers: &[HELLO],
        closes: true,
    },
    Shape {
        name: "ab -k",
        bytes: "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\nHost: 127.0.0.1:8080\r\n\
                User-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n",
        answers: &[HELLO],
        closes: false,
    },
    Shape {
        name: "wrk with a query",
        bytes: "GET /?a=1&b=2&c=111134 HTTP/1.1\r\nHost: 127.0.0.1:9002\r\n\r\n",
        answers: &[HELLO],
        closes: false,
    },
    Shape {
        name: "curl",
        bytes: "GET / HTTP/1.1\r\nHost: 127.0.0.1:9501\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n",
        answers: &[HELLO],
        closes: false,
    },
    Shape {
        name: "browser",
        bytes: "GET /?from=page HTTP/1.1\r\nHost: 127.0.0.1:9501\r\nConnection: keep-alive\r\n\
                Cache-Control: max-age=0\r\nUpgrade-Insecure-Requests: 1\r\n\
                User-Agent: Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101\r\n\
                Accept: text/html,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Encoding: gzip, deflate\r\n\
                Accept-Language: en;q=0.9\r\nCookie: session=0123456789abcdef; theme=dark\r\n\r\n",
        answers: &[HELLO],
        closes: false,
    },
    Shape {
        name: "post with a length",
        bytes: "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                Content-Length: 11\r\n\r\na=1&b=\r\n\r\n!",
        answers: &[(200, "a=1&b=\r\n\r\n!")],
        closes: false,
    },
    Shape {
        name: "post in chunks",
        bytes: "POST /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n\
                5\r\nhello\r\n6;note=\"a;b\"\r\n world\r\n00b\r\n0123\r\n56\r\n9\r\n0\r\nX-Sum: 1\r\n\r\n",
        answers: &[(200, "hello world0123\r\n56\r\n9")],
        closes: false,
    },
    Shape {
        name: "three in a row",
        bytes: "GET / HTTP/1.1\r\nHost: t\r\n\r\nPOST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nabc\
                GET /missing HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n",
        answers: &[HELLO, (200, "abc"), (404, "")],
        closes: true,
    },
];

#[test]
fn any_cut_gets_the_same_answer() -> Outcome {
    each_engine(&[], |server| {
        let addr = server.addr();
        for shape in SHAPES {
            let whole = answers(addr, shape, &[shape.bytes.as_bytes()]).map_err(|f| f.within(shape.name))?;
            let cuts = (1..shape.bytes.len()).map(|at| (format!("{} cut at {at}", shape.name), at));
            check_all(cuts, |at| {
                let (first, second) = shape.bytes.as_bytes().split_at(at);
                let cut = answers(addr, shape, &[first, second])?;
                ensure!(cut == whole, "got {} instead of {}", shown(&cut), shown(&whole));
                Ok(())
            })?;
        }
        Ok(())
    })
}

#[test]
fn one_byte_at_a_time_gets_the_same_answer() -> Outcome {
    each_engine(&[], |server| {
        check_all(SHAPES.iter().map(|shape| (shape.name, shape)), |shape| {
            let whole = answers(server.addr(), shape, &[shape.bytes.as_bytes()])?;
            let bytes: Vec<&[u8]> = shape.bytes.as_bytes().chunks(1).collect();
            let slow = answers(server.addr(), shape, &bytes)?;
            ensure!(slow == whole, "got {} instead of {}", shown(&slow), shown(&whole));
            Ok(())
        })
    })
}

/// The bytes of all answers but for their dates, after checking what they say and how the connection then stands.
fn answers(addr: SocketAddr, shape: &Shape, parts: &[&[u8]]) -> Outcome<Vec<u8>> {
    let mut raw = Raw::connect(addr)?;
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            std::thread::sleep(GAP);
        }
        raw.send(part)?;
    }
    let mut bytes = Vec::new();
    for &(status, body) in shape.answers {
        let answer = raw.response(false)?;
        let right = answer.status == status && (status != 200 || answer.body == body.as_bytes());
        ensure!(right, "{} where {status} {body:?} was due", shown(&answer.raw));
        bytes.extend(answer.timeless());
    }
    if shape.closes {
        let end = raw.end_within(PATIENCE)?;
        ensure!(end == End::Closed, "the connection is {end:?}, not closed");
    } else {
        raw.usable()?;
    }
    Ok(bytes)
}
