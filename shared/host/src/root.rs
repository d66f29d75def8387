//! Where /proc, /sys and /dev are: the machine's own, or a directory that a test has filled.

use std::path::{Path, PathBuf};

/// The three trees that knobs live in. Everything that reads or writes one takes a `Root`, so that tests need no machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Stands for /proc.
    pub proc: PathBuf,
    /// Stands for /sys.
    pub sys: PathBuf,
    /// Stands for /dev.
    pub dev: PathBuf,
}

impl Root {
    /// The machine itself.
    #[must_use]
    pub fn host() -> Self {
        Self::under(Path::new("/"))
    }

    /// `proc`, `sys` and `dev` below a directory.
    #[must_use]
    pub fn under(directory: &Path) -> Self {
        Self { proc: directory.join("proc"), sys: directory.join("sys"), dev: directory.join("dev") }
    }

    /// The file of a sysctl. `name` has slashes: `net/ipv4/tcp_sack`.
    #[must_use]
    pub fn sysctl(&self, name: &str) -> PathBuf {
        self.proc.join("sys").join(name)
    }

    /// The directory of a network device: `/sys/class/net/lo`.
    #[must_use]
    pub fn device(&self, device: &str) -> PathBuf {
        self.sys.join("class/net").join(device)
    }

    /// The contents of a file without the newline at its end; `None` when it can't be read.
    #[must_use]
    pub fn read(path: &Path) -> Option<String> {
        std::fs::read_to_string(path).ok().map(|text| text.trim_end().to_owned())
    }

    /// The id of this boot (random(4)): what was written under another one is gone.
    #[must_use]
    pub fn boot_id(&self) -> String {
        Self::read(&self.sysctl("kernel/random/boot_id")).unwrap_or_else(|| "unknown".to_owned())
    }

    /// The caller's network namespace as the kernel prints it: `net:[4026531840]`.
    ///
    /// /proc/thread-self and not /proc/self: a thread can be in another namespace than its process's first thread.
    #[must_use]
    pub fn network_namespace(&self) -> String {
        let link = std::fs::read_link(self.proc.join("thread-self/ns/net"));
        link.map_or_else(|_| "unknown".to_owned(), |target| target.display().to_string())
    }
}
