//! Faults of the state directory: files that are damaged or gone, a disk that is full, too few
//! file handles. Nothing is lost by them, nothing passes twice.
//! Must not be in here: how a store finds its damage; that is `tests/store`.

mod common;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{
    Feeder, SOON, assert_agreement, assert_exact, await_log, await_readyz, broker, end, logs, rest,
    sample, unique,
};
use oncegate_testkit::generator::{Kind, Sent};
use oncegate_testkit::process::Process;
use oncegate_testkit::produce::{Timestamps, produce};
use oncegate_testkit::reader::committed_offset;
use oncegate_testkit::scene::{Scene, SceneOptions};
use oncegate_testkit::wait::wait_for;

const PARTITIONS: usize = 4;

fn scene(name: &str, options: SceneOptions) -> Scene {
    Scene::new(broker(), &unique(name), options).expect("a scene")
}

fn send(scene: &Scene, sent: &[Sent]) {
    produce(&scene.bootstrap, &scene.raw(), sent, Timestamps::EventTime).expect("produced");
}

fn serve(scene: &Scene) {
    let mut one = scene.start("one").expect("started");
    rest(scene, &["one"]);
    await_readyz(scene, "one", 200, "ready");
    end(&mut one);
}

fn store_dir(scene: &Scene, partition: usize) -> PathBuf {
    scene.state_dir("one").join("stores").join("route").join(partition.to_string())
}

/// The files of a folder whose name holds this.
fn files(folder: &Path, part: &str) -> Vec<PathBuf> {
    let found: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(part)))
        .collect();
    assert!(!found.is_empty(), "{} has no {part}", folder.display());
    found
}

/// Inverts some bytes of a file.
fn flip(path: &Path, places: impl Iterator<Item = u64>) {
    let file = File::options().read(true).write(true).open(path).expect("the file");
    let mut byte = [0];
    for at in places {
        file.read_exact_at(&mut byte, at).expect("a byte");
        file.write_all_at(&[!byte[0]], at).expect("written");
    }
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).expect("the file").len()
}

/// Serves a sample, does something to the store of each partition, and sends it again with more.
fn damaged(name: &str, seed: u64, found: &str, damage: impl Fn(&Path)) {
    let scene = scene(name, SceneOptions::default());
    let sent = sample(seed, Kind::Lab, 20_000);
    send(&scene, &sent[..12_000]);
    serve(&scene);
    (0..PARTITIONS).for_each(|partition| damage(&store_dir(&scene, partition)));
    send(&scene, &sent);
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    let sent = [&sent[..12_000], &sent].concat();
    assert_exact(&scene, &sent, &["one"]);
    await_readyz(&scene, "one", 200, "ready");
    end(&mut one);
    let aside = fs::read_dir(scene.state_dir("one").join("aside")).expect("the folder");
    assert_eq!(aside.count(), PARTITIONS, "kept, not deleted\n{}", logs(&scene, &["one"]));
    let log = scene.log("one");
    assert!(log.contains(&format!("was set aside: {found}")), "{log}");
    assert_agreement(&scene, &sent, &["one"]);
}

#[test]
fn store_corrupt_bytes_flipped_in_every_table() {
    damaged("sst", 111, "", |store| {
        for table in files(store, ".sst") {
            flip(&table, (0..length(&table)).step_by(997));
        }
    });
}

/// Only the rows, so that the file still opens: it is found when they are looked up.
#[test]
fn store_corrupt_bytes_flipped_in_rows() {
    damaged("rows", 112, "rows that were looked up are damaged", |store| {
        for table in files(store, ".sst") {
            flip(&table, (100..length(&table) / 3).step_by(50));
        }
    });
}

#[test]
fn store_corrupt_bytes_flipped_in_the_manifest() {
    damaged("manifest", 113, "it is damaged and cannot be opened", |store| {
        for manifest in files(store, "MANIFEST") {
            flip(&manifest, (0..length(&manifest)).step_by(23));
        }
    });
}

#[test]
fn store_corrupt_current_removed() {
    damaged("current", 114, "it is damaged and cannot be opened", |store| {
        fs::remove_file(store.join("CURRENT")).expect("removed");
    });
}

#[test]
fn store_corrupt_table_removed() {
    damaged("table", 115, "it is damaged and cannot be opened", |store| {
        fs::remove_file(&files(store, ".sst")[0]).expect("removed");
    });
}

/// The row "store corrupt or gone".
#[test]
fn store_gone() {
    let scene = scene("gone", SceneOptions::default());
    let sent = sample(116, Kind::Lab, 8_000);
    send(&scene, &sent);
    serve(&scene);
    fs::remove_dir_all(scene.state_dir("one").join("stores")).expect("removed");
    send(&scene, &sent);
    serve(&scene);
    let sent = [&sent[..], &sent].concat();
    assert_exact(&scene, &sent, &["one"]);
    assert_agreement(&scene, &sent, &["one"]);
}

/// A file system of a few megabytes at a folder, until it is dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(folder: PathBuf, megabytes: usize) -> SmallDisk {
        fs::create_dir_all(&folder).expect("a folder");
        let size = format!("size={megabytes}m");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "oncegate-test"])
            .arg(&folder)
            .output()
            .expect("`mount` is there");
        let said = String::from_utf8_lossy(&mount.stderr).into_owned();
        assert!(mount.status.success(), "needs the right to mount a tmpfs (root): {said}");
        SmallDisk(folder)
    }

    /// Takes all the room that there is.
    fn fill(&self) {
        let mut filler = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.0.join("filler"))
            .expect("a file");
        while filler.write_all(&[1; 4096]).is_ok() {}
    }

    fn make_room(&self) {
        fs::remove_file(self.0.join("filler")).expect("removed");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn committed(scene: &Scene) -> Vec<Option<i64>> {
    (0..PARTITIONS as i32)
        .map(|partition| {
            committed_offset(&scene.bootstrap, &scene.group(), &scene.raw(), partition)
                .expect("an answer")
                .map(|(offset, _)| offset)
        })
        .collect()
}

/// Waits until every partition waits for room on the disk.
fn await_no_room(scene: &Scene, one: &mut Process) {
    wait_for(SOON * 2, "every partition waits for room", || {
        assert!(one.is_running(), "{}", one.end_of_log());
        let (status, body) = scene.get("one", "/readyz").map_err(|error| error.to_string())?;
        let waiting = body.matches("no space left").count();
        if status == 503 && waiting == PARTITIONS { Ok(()) } else { Err(body) }
    })
    .unwrap_or_else(|error| panic!("{error}\n{}", logs(scene, &["one"])));
}

/// HarperFast/rocksdb-js#730: after a full disk the store stayed in its error state.
#[test]
fn disk_full_under_load() {
    let options = SceneOptions { store_memory: "16MiB".to_owned(), ..SceneOptions::default() };
    let scene = scene("full", options);
    let disk = SmallDisk::mount(scene.state_dir("one"), 96);
    let feeder = Feeder::start(&scene, sample(117, Kind::Lab, 900_000));
    let mut one = scene.start("one").expect("started");
    await_log(&scene, "one", "taken over", PARTITIONS, SOON);
    disk.fill();
    await_no_room(&scene, &mut one);
    let stopped_at = committed(&scene);
    let sent = feeder.stop();
    assert_eq!(committed(&scene), stopped_at, "nothing is committed that cannot be stored");
    disk.make_room();
    await_readyz(&scene, "one", 200, "ready");
    rest(&scene, &["one"]);
    assert_exact(&scene, &sent, &["one"]);
    end(&mut one);
    assert_agreement(&scene, &sent, &["one"]);
}

/// facebook/rocksdb#931: opening on a full disk aborted the process.
#[test]
fn disk_full_at_start() {
    let scene = scene("full-start", SceneOptions::default());
    let disk = SmallDisk::mount(scene.state_dir("one"), 24);
    let sent = sample(118, Kind::Lab, 8_000);
    send(&scene, &sent[..4_000]);
    disk.fill();
    let mut one = scene.start("one").expect("started");
    let status = one.wait(SOON).expect("without room for an id it refuses to start");
    assert_eq!(status.code(), Some(1), "{}", one.end_of_log());
    assert!(scene.log("one").contains("No space left on device"), "{}", scene.log("one"));
    disk.make_room();
    serve(&scene);
    send(&scene, &sent[4_000..]);
    disk.fill();
    let before = committed(&scene);
    let mut one = scene.start("one").expect("started");
    await_no_room(&scene, &mut one);
    assert_eq!(committed(&scene), before, "nothing is consumed beyond what is stored");
    disk.make_room();
    rest(&scene, &["one"]);
    await_readyz(&scene, "one", 200, "ready");
    assert_exact(&scene, &sent, &["one"]);
    end(&mut one);
    assert_agreement(&scene, &sent, &["one"]);
}

/// rust-rocksdb/rust-rocksdb#818: running out of file handles made writes hang without an error.
#[test]
fn too_few_file_handles() {
    let scene = scene("handles", SceneOptions { partitions: 8, ..SceneOptions::default() });
    let sent = sample(119, Kind::Lab, 8_000);
    send(&scene, &sent);
    let mut options = scene.process_options("one", "gate.toml");
    let binary = options.binary.take().expect("the binary").into_os_string();
    let limited = ["-c", "ulimit -n 64; exec \"$0\" \"$@\""].map(Into::into);
    options.arguments = limited.into_iter().chain([binary]).chain(options.arguments).collect();
    options.binary = Some(PathBuf::from("/bin/sh"));
    let mut one = Process::start(&options).expect("started");
    let status = one.wait(SOON).expect("it refuses to start");
    assert_eq!(status.code(), Some(1), "no abort: {}", one.end_of_log());
    let said = scene.log("one");
    assert!(said.contains("file") && said.contains("ulimit -n"), "{said}");
    assert_eq!(committed(&scene), [None; PARTITIONS], "nothing is consumed");
    serve(&scene);
    assert_exact(&scene, &sent, &["one"]);
}
