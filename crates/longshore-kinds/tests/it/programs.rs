//! What `exec` runs, what it refuses, and that nothing of it stays.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use longshore_kinds::{
    Exec, ExecConfig, ExecFor, Executed, FilesRoot, KindError, MAX_ARGUMENT_BYTES, execute,
};
use tempfile::TempDir;

const SH: &str = "/bin/sh";

struct Place {
    folder: TempDir,
    config: ExecConfig,
}

impl Place {
    fn new() -> Place {
        let config = ExecConfig {
            programs: vec![SH.into(), "/nowhere/program".into()],
            variables: vec!["GREETING".to_owned()],
            ..ExecConfig::default()
        };
        Place { folder: tempfile::tempdir().expect("a folder"), config }
    }

    fn run(&self, job: &Exec, stopped: &dyn Fn() -> bool) -> Result<Executed, KindError> {
        let root = FilesRoot::open(self.folder.path()).expect("it opens");
        let of = ExecFor { job: "the-job".to_owned(), attempt: 2 };
        execute(job, (&root, &self.config), &of, stopped)
    }

    fn shell(&self, script: &str) -> Result<Executed, KindError> {
        self.run(&shell(script), &|| false)
    }

    fn refused(&self, job: &Exec) -> String {
        let error = self.run(job, &|| false).expect_err("refused");
        assert!(error.is_permanent(), "{error}");
        error.to_string()
    }
}

fn shell(script: &str) -> Exec {
    Exec { argv: [SH, "-c", script].map(str::to_owned).to_vec(), ..Exec::default() }
}

#[test]
fn a_program_gets_its_arguments_its_input_and_hardly_any_environment() {
    let place = Place::new();
    let job = Exec {
        argv: [SH, "-c", "cat; echo \"$1\"; echo oh >&2; env | sort", "sh", "$(id) *; 'x'"]
            .map(str::to_owned)
            .to_vec(),
        stdin: Some("in\n".to_owned()),
        env: [("GREETING".to_owned(), "hé=llo".to_owned())].into(),
        ..Exec::default()
    };
    let ended = place.run(&job, &|| false).expect("it ends well");
    let mut lines = ended.stdout.lines();
    assert_eq!(lines.next(), Some("in"));
    assert_eq!(lines.next(), Some("$(id) *; 'x'"), "no shell looks at it");
    let own_of_shells = ["PWD", "SHLVL", "_"];
    let names = lines.map(|line| line.split('=').next().unwrap());
    let names: Vec<&str> = names.filter(|name| !own_of_shells.contains(name)).collect();
    assert_eq!(names, ["GREETING", "LANG", "LONGSHORE_ATTEMPT", "LONGSHORE_JOB_ID", "PATH"]);
    assert!(
        ended.stdout.contains("GREETING=hé=llo") && ended.stdout.contains("LONGSHORE_ATTEMPT=2")
    );
    assert_eq!((ended.stderr.as_str(), ended.stderr_dropped, ended.stdout_dropped), ("oh", 0, 0));
}

#[test]
fn it_begins_in_the_files_folder_or_below() {
    let place = Place::new();
    fs::create_dir_all(place.folder.path().join("a/b")).unwrap();
    fs::write(place.folder.path().join("a/b/here"), "").unwrap();
    let at = |cwd: &str| Exec { cwd: Some(cwd.to_owned()), ..shell("ls") };
    assert_eq!(place.shell("ls").unwrap().stdout, "a");
    assert_eq!(place.run(&at("."), &|| false).unwrap().stdout, "a");
    assert_eq!(place.run(&at("a/b"), &|| false).unwrap().stdout, "here");
    assert!(place.refused(&at("..")).starts_with("`cwd`"));
    assert!(place.refused(&at("a/../../x")).starts_with("`cwd`"));
    assert!(place.refused(&at("/tmp")).starts_with("`cwd`"));
    std::os::unix::fs::symlink("/", place.folder.path().join("out")).unwrap();
    assert_eq!(place.refused(&at("out")), "`cwd` leads out of the files folder");
    let missing = place.run(&at("later"), &|| false).expect_err("it may come");
    assert!(matches!(missing, KindError::Missing { field: "cwd" }), "{missing}");
}

#[test]
fn what_was_not_allowed_is_refused_by_name() {
    let place = Place::new();
    for argv in [&["/bin/ls"][..], &["sh"], &["/bin/../bin/sh"], &[""]] {
        let job =
            Exec { argv: argv.iter().map(|&arg| arg.to_owned()).collect(), ..Exec::default() };
        assert_eq!(
            place.refused(&job),
            "`argv` begins with a program that the operator did not allow"
        );
    }
    assert_eq!(place.refused(&Exec::default()), "`argv` has 0 entries, it must have 1 to 256");
    let preload = Exec { env: [("LD_PRELOAD".to_owned(), "x".to_owned())].into(), ..shell("") };
    assert_eq!(place.refused(&preload), "`env` has `LD_PRELOAD`, which the operator did not allow");
    assert_eq!(place.refused(&shell("a\0b")), "`argv` has a NUL, which no program can be given");
    let long = place.refused(&shell(&"x".repeat(MAX_ARGUMENT_BYTES)));
    assert!(long.starts_with("`argv` is too large: "), "{long}");
    let nobody = ExecConfig::default();
    assert!(shell("true").check(&nobody).is_err(), "nothing is allowed by itself");
    let gone = place.run(&Exec::new("/nowhere/program"), &|| false).expect_err("not there");
    assert!(matches!(gone, KindError::Io { .. }) && !gone.is_permanent(), "{gone}");
}

#[test]
fn how_it_ended_is_told_with_its_last_words() {
    let place = Place::new();
    let told = |script: &str| place.shell(script).expect_err("it failed").to_string();
    assert_eq!(told("echo out; echo no such table >&2; exit 3"), "exit status: 3: no such table");
    assert_eq!(told("echo only out; exit 1"), "exit status: 1: only out");
    assert_eq!(told("exit 7"), "exit status: 7");
    assert_eq!(told("kill -9 $$"), "signal: 9 (SIGKILL)");
    let long = told("head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1");
    assert_eq!(long.len(), "exit status: 1: ".len() + 1_024);
}

#[test]
fn outputs_are_kept_from_their_end_and_bounded() {
    let place = Place::new();
    let ended = place.shell("head -c 20000000 /dev/zero | tr '\\0' x; echo end").unwrap();
    assert_eq!(ended.stdout.len() as u64 + ended.stdout_dropped, 20_000_003);
    assert!(ended.stdout.ends_with("xxend") && ended.stdout.len() < 64 << 10);
    let odd = place.shell("printf 'a\\377b'").unwrap();
    assert_eq!(odd.stdout, "a\u{fffd}b");
}

#[test]
fn secrets_are_masked_however_a_program_writes_them() {
    let mut place = Place::new();
    let secret = "p@ss/w+rd and more";
    place.config.secrets = vec![secret.into()];
    place.config.variables = vec!["SHOP_TOKEN".to_owned()];
    place.config.output_bytes = 64;
    let script = r#"
        printf '%s\n' "$1"
        printf 'p%%40ss%%2Fw%%2Brd+and%%20more\n'
        printf '%s' "$1" | base64
        printf 'user:%s' "$1" | base64
        printf '"p@ss\/w\u002brd and more" %s\n' "$SHOP_TOKEN"
        printf '%s' "$1" >&2"#;
    let mut job = shell(script);
    job.argv.extend(["sh", secret].map(str::to_owned));
    job.env = [("SHOP_TOKEN".to_owned(), "tok-98765".to_owned())].into();
    let ended = place.run(&job, &|| false).unwrap();
    assert_eq!(ended.stdout, "***\n***\n***\ndXNlcj***\n\"***\" ***");
    assert_eq!(ended.stderr, "***");

    // One that the cut goes through is masked, too, not kept by its end.
    let script = "printf '%s' \"$1\"; head -c 60 /dev/zero | tr '\\0' x";
    let job = Exec {
        argv: [SH, "-c", script, "sh", secret].map(str::to_owned).to_vec(),
        ..Exec::default()
    };
    let ended = place.run(&job, &|| false).unwrap();
    assert_eq!(ended.stdout, format!("***{}", "x".repeat(60)));
    let failing = Exec {
        argv: [SH, "-c", "echo \"$1\"; exit 1", "sh", secret].map(str::to_owned).to_vec(),
        ..Exec::default()
    };
    let error = place.run(&failing, &|| false).expect_err("it fails");
    assert_eq!(error.to_string(), "exit status: 1: ***");
}

#[test]
fn a_program_that_never_reads_its_input_ends() {
    let place = Place::new();
    let job = Exec { stdin: Some("x".repeat(1 << 20)), ..shell("echo well") };
    assert_eq!(place.run(&job, &|| false).unwrap().stdout, "well");
}

/// Whether a process with this id runs; one that ended and was not yet reaped does not.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

pub fn until_gone(pid: &str) {
    let from = Instant::now();
    while runs(pid) {
        assert!(from.elapsed() < Duration::from_secs(5), "{pid} still runs");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_stop_ends_the_program_and_all_that_it_started() {
    let place = Place::new();
    let pids = place.folder.path().join("pids");
    // The second heeds no SIGTERM.
    for trap in ["", "trap '' TERM; "] {
        let _ = fs::remove_file(&pids);
        let script = format!(
            "{trap}(sleep 60) & (sleep 60) & echo $$ $! >pids.part; mv pids.part pids; wait; sleep 60"
        );
        let stop_at: Cell<Option<Instant>> = Cell::new(None);
        let stopped = || {
            if stop_at.get().is_none() && pids.exists() {
                stop_at.set(Some(Instant::now()));
            }
            stop_at.get().is_some()
        };
        let ended = place.run(&shell(&script), &stopped);
        assert!(matches!(ended, Err(KindError::Cancelled)), "{ended:?}");
        let took = stop_at.get().expect("it was stopped").elapsed();
        assert!(took < Duration::from_secs(3), "{took:?}");
        for pid in fs::read_to_string(&pids).unwrap().split_whitespace() {
            until_gone(pid);
        }
    }
}

#[test]
fn what_a_program_leaves_behind_is_ended_with_it() {
    let place = Place::new();
    let left = place.shell("sleep 60 & echo $!").unwrap();
    until_gone(&left.stdout);
    // One that went its own way holds the output open, and nobody waits for it.
    let from = Instant::now();
    let left = place.shell("setsid sleep 60 & echo $!; sleep 0.2").unwrap();
    assert!(from.elapsed() < Duration::from_secs(20));
    let _ = std::process::Command::new("kill").arg(&left.stdout).status();
}
