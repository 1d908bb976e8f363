//! The two languages: where their programs are, and how they are built.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Clone, Copy, Debug)]
pub enum Language {
    Python,
    TypeScript,
}

/// A language whose programs can be run.
pub struct Tools {
    language: Language,
    /// What runs them.
    program: &'static str,
    /// Where they are: the sources, or what was built of them.
    pub home: PathBuf,
}

impl Language {
    /// `None`, and a line that says so, where something is missing; in CI that is a failure.
    pub fn tools(self) -> Option<Tools> {
        match self {
            Language::Python => {
                let version = "import sys; sys.exit(sys.version_info < (3, 9))";
                let there = can_run(Command::new("python3").args(["-c", version]));
                there.then_some(()).or_else(|| left_out("python3, 3.9 or newer"))?;
                Some(Tools { language: self, program: "python3", home: folder("python") })
            }
            Language::TypeScript => {
                let version = "process.exit(process.versions.node.split('.')[0] >= 18 ? 0 : 1)";
                let there = can_run(Command::new("node").args(["-e", version]));
                there.then_some(()).or_else(|| left_out("node, 18 or newer"))?;
                let tsc = tool("bin/tsc").or_else(|| left_out("tsc"))?;
                let types = installed("@types_node-").or_else(|| left_out("@types/node"))?;
                let home = built(&tsc, &types.join("node_modules/@types"));
                Some(Tools { language: self, program: "node", home })
            }
        }
    }
}

impl Tools {
    fn run(&self, file: &str) -> Command {
        let mut command = Command::new(self.program);
        command.env("PYTHONPATH", self.home.join("src")).env("PYTHONDONTWRITEBYTECODE", "1");
        command.arg(self.home.join(file)).stdin(Stdio::null());
        command
    }

    /// The worker of `tests/programs`.
    pub fn worker(&self) -> Command {
        match self.language {
            Language::Python => self.run("tests/programs/worker.py"),
            Language::TypeScript => self.run("test/programs/worker.js"),
        }
    }

    pub fn example(&self) -> Command {
        match self.language {
            Language::Python => self.run("examples/receipts.py"),
            Language::TypeScript => self.run("examples/receipts.js"),
        }
    }

    /// The example as its README should have it, and the README.
    pub fn readme(&self) -> (String, String) {
        let (name, file) = match self.language {
            Language::Python => ("python", "examples/receipts.py"),
            Language::TypeScript => ("typescript", "examples/receipts.ts"),
        };
        let read = |file: &str| std::fs::read_to_string(folder(name).join(file)).expect("a file");
        (read(file), read("README.md"))
    }

    /// Its tests: those against a server of their own, and those that need a real one where that is named.
    pub fn suite(&self) -> Command {
        let mut command = Command::new(self.program);
        match self.language {
            Language::Python => {
                command.args(["-W", "ignore", "-m", "unittest", "discover", "-s", "tests"]);
            }
            Language::TypeScript => {
                command.arg("--test");
                let names = ["client", "worker", "live"];
                command.args(names.map(|name| format!("test/{name}.test.js")));
            }
        }
        command.current_dir(&self.home).stdin(Stdio::null());
        command.env("PYTHONPATH", self.home.join("src")).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    /// Of the suite what needs a real server.
    pub fn live(&self) -> Command {
        let mut command = self.run(match self.language {
            Language::Python => "tests/test_live.py",
            Language::TypeScript => "test/live.test.js",
        });
        command.current_dir(&self.home);
        command
    }
}

/// Runs it, and fails with all that it said.
pub fn pass(command: &mut Command) -> String {
    let said = command.output().expect("it runs");
    let out = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.status.success(), "{out}{}", String::from_utf8_lossy(&said.stderr));
    out
}

pub fn mypy() -> Option<PathBuf> {
    tool("bin/mypy").or_else(|| left_out("mypy"))
}

/// A client's folder.
pub fn folder(name: &str) -> PathBuf {
    root().join("clients").join(name)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the root")
}

fn tool(path: &str) -> Option<PathBuf> {
    Some(root().join("target/tools").join(path)).filter(|tool| tool.exists())
}

/// The folder of a tool without a command, by how its name begins.
fn installed(name: &str) -> Option<PathBuf> {
    let all = std::fs::read_dir(root().join("target/tools")).ok()?.map_while(Result::ok);
    let is_it = |path: &PathBuf| {
        path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name))
    };
    all.map(|entry| entry.path()).find(|path| is_it(path) && path.join("installed").exists())
}

fn left_out<T>(what: &str) -> Option<T> {
    assert!(std::env::var("CI").is_err(), "{what} is missing: run scripts/setup-tests");
    println!("left out: {what} (run scripts/setup-tests)");
    None
}

fn can_run(command: &mut Command) -> bool {
    let said = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    said.is_ok_and(|status| status.success())
}

/// TypeScript as JavaScript: the package as it is published, and its tests; once for each state of the sources, by
/// whichever test comes first.
fn built(tsc: &Path, types: &Path) -> PathBuf {
    let source = folder("typescript");
    let all = root().join("target/clients");
    let home = all.join(format!("typescript-{:016x}", state_of(&source)));
    std::fs::create_dir_all(&home).expect("a folder");
    let lock = std::fs::File::create(home.join("lock")).expect("a file");
    lock.lock().expect("a lock");
    if home.join("package.json").exists() {
        return home;
    }
    // What was built of earlier states.
    for other in std::fs::read_dir(all).expect("a folder").map_while(Result::ok) {
        if other.path() != home {
            let _ = std::fs::remove_dir_all(other.path());
        }
    }
    let compile = |project: &str, to: &Path| {
        let mut command = Command::new(tsc);
        command.current_dir(&source).args(["-p", project]);
        pass(command.arg("--typeRoots").arg(types).arg("--outDir").arg(to));
    };
    compile("tsconfig.json", &home.join("dist"));
    compile("tsconfig.test.json", &home);
    // Last, as it says that all is there. With it the example finds the package by its name.
    std::fs::copy(source.join("package.json"), home.join("package.json")).expect("a copy");
    home
}

fn state_of(folder: &Path) -> u64 {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").map_while(Result::ok) {
            let (path, name) = (entry.path(), entry.file_name());
            if !path.is_dir() {
                files.push(path);
            } else if !["node_modules", "dist", "build"].iter().any(|made| name == *made) {
                folders.push(path);
            }
        }
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        (&file, std::fs::read(&file).expect("a file")).hash(&mut hasher);
    }
    hasher.finish()
}
