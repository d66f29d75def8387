//! The flags. Those that the config file has as well stand in [`Options`]; the tables of limits in [`crate::limits`].

use std::path::PathBuf;

use clap::Parser;

use crate::config::{Config, ConfigError, Machine, Options};

const SHORT_HELP: &str = "--help says more: limits, examples, the config file, exit codes.";

/// Lines of at most 79 columns: they are not filled again.
const LONG_HELP: &str = "\
Examples:
  ringshot-server
      hello world on http://127.0.0.1:8080/, one worker a CPU
  ringshot-server --listen 0.0.0.0:80 --listen [::]:80 --body-file index.html \\
          --header 'Content-Type: text/html'
      one page on all addresses
  ringshot-server --cpus 0-3 --steer cpu --wait spin
      four workers that never sleep, each with the connections of its own CPU
  ringshot-server --config server.toml --print-config
      what a config file comes to; the output is a config file itself

Config file (TOML; flags win over it):
  Keys are the names of the flags with _ for -: listen (a list), workers, cpus,
  steer, wait, engine; the limits in a table [limits], the ring's sizes in
  [ring]. Each route is a table:
    [[route]]
    path = \"/ok\"                  # any query is answered alike
    body = \"ok\"                   # or body_file = \"ok.txt\", or echo = true
    status = 200                  # these four may be left out
    content_type = \"text/plain\"
    headers = [\"Cache-Control: no-store\"]
    methods = [\"GET\", \"OPTIONS\"]
  Unless a route defines it, / answers hello world and /echo answers with the
  decoded body of the request.

SIGTERM and SIGINT finish what is in flight, within --grace. A second one ends
the server at once.

Exit codes: 0 stopped as told, 2 bad settings, 3 address in use, 4 no
permission, 5 io_uring refused, 6 address cannot be listened on, 7 out of
threads, descriptors or memory.";

/// Thread-per-core HTTP/1.1 server on io_uring.
#[derive(Clone, Debug, Default, Parser)]
#[command(name = "ringshot-server", version, max_term_width = 120, after_help = SHORT_HELP, after_long_help = LONG_HELP)]
pub struct Cli {
    /// What the file has as well.
    #[command(flatten)]
    pub options: Options,
    /// Body of the answer to / [default: hello world]
    #[arg(long, value_name = "TEXT", conflicts_with = "body_file")]
    pub body: Option<String>,
    /// File to answer / with, read once at start
    #[arg(long, value_name = "FILE")]
    pub body_file: Option<PathBuf>,
    /// A field of the answer to /, such as 'Cache-Control: no-store'; may be given several times
    #[arg(long = "header", short = 'H', value_name = "N: V")]
    pub headers: Vec<String>,
    /// Config file in TOML; flags win over it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print the settings in force as a config file, and exit
    #[arg(long)]
    pub print_config: bool,
}

impl Cli {
    /// Settings in force: flags over file over defaults, checked.
    ///
    /// # Errors
    /// The first that can't be used.
    pub fn resolve(self, machine: &Machine) -> Result<Config, ConfigError> {
        let file = self.config.as_deref().map(Options::read).transpose()?;
        let mut options = self.options.or(file.unwrap_or_default());
        let root = options.route_mut("/");
        if self.body.is_some() || self.body_file.is_some() {
            (root.body, root.body_file) = (self.body, self.body_file);
        }
        root.headers.extend(self.headers);
        options.resolve(machine)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::config::{Steer, Wait};

    fn resolve(flags: &[&str]) -> Result<Config, String> {
        let cli =
            Cli::try_parse_from(std::iter::once(&"ringshot-server").chain(flags)).map_err(|error| error.to_string())?;
        let machine = Machine { allowed_cpus: "0-3".parse().expect("a list"), workers: 2 };
        cli.resolve(&machine).map_err(|error| error.to_string())
    }

    #[test]
    fn the_table_of_flags_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_limit_says_its_default_and_is_a_flag_of_its_key() {
        let help = Cli::command().render_long_help().to_string();
        let printed = Config::to_toml(&resolve(&[]).expect("usable")).expect("printable");
        let table: toml::Table = printed.parse().expect("TOML");
        let sections = ["limits", "ring"].map(|name| table[name].as_table().expect("a table").clone());
        let settings: Vec<_> = sections.into_iter().flatten().collect();
        assert!(settings.len() > 15, "{settings:?}");
        for (key, value) in settings {
            let flag = format!("--{} <", key.replace('_', "-"));
            let at = help.find(&flag).unwrap_or_else(|| panic!("{flag} is not in --help"));
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let paragraph: String = help[at..].split("\n\n").next().expect("not empty").split_whitespace().collect();
            assert!(paragraph.contains(&format!("[default:{value}]")), "{flag} {value}: {paragraph}");
        }
    }

    #[test]
    fn flags_reach_the_settings() {
        let flags = "--listen 127.0.0.1:0 --listen [::1]:9 --workers 3 --cpus 1-2 --steer cpu --wait spin --max-head 8k \
                     --max-target 2k --grace 3s --ring-buffers 64 --engine epoll";
        let config = resolve(&flags.split_whitespace().collect::<Vec<_>>()).expect("usable");
        assert_eq!((config.listen.len(), config.workers, config.steer, config.wait), (2, 3, Steer::Cpu, Wait::Spin));
        assert_eq!(
            (config.limits.max_head.0, config.limits.grace.0.as_secs(), config.ring.ring_buffers),
            (8192, 3, 64)
        );
    }

    #[test]
    fn body_and_headers_go_to_the_root() {
        let config = resolve(&["--body", "hi", "--header", "X-A: b", "-H", "Content-Type: text/html"]).expect("usable");
        let root = &config.routes[0];
        assert_eq!((root.path.as_str(), &root.body[..]), ("/", &b"hi"[..]));
        let fields: Vec<_> = root.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(fields, [("Server", "ringshot"), ("X-A", "b"), ("Content-Type", "text/html")]);
    }

    #[test]
    fn bad_flags_are_refused() {
        for (flags, words) in [
            (&["--body", "x", "--body-file", "y"][..], "cannot be used with"),
            (&["--workers", "x"], "invalid"),
            (&["--cpus", "9"], "CPU 9 is not among"),
            (&["--header", "nonsense"], "header 'nonsense'"),
            (&["--config", "/does/not/exist"], "cannot read the config file /does/not/exist"),
            (&["--listen", "localhost"], "invalid"),
            (&["extra"], "unexpected argument"),
        ] {
            let message = resolve(flags).expect_err("refused");
            assert!(message.contains(words), "{flags:?}: {message}");
        }
    }
}
