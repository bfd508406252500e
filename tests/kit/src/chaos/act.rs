//! How each fault is done, and undone.
//! Must not be in here: the order of the faults, or what they cost.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::chaos::fault::{Fault, Plan};
use crate::chaos::proxy::{Proxy, Request};
use crate::chaos::stage::{MEMBERS, PARTITIONS, SESSION, Stage, TRANSACTION};
use crate::error::{Doing, KitError, Result};
use crate::reader::{committed_offset, watermarks};
use crate::topics::{Admin, GroupOffset};
use crate::wait::{wait_for, wait_until};

/// How long a group may count members that have gone.
const EMPTY_TIMEOUT: Duration = Duration::from_secs(60);
/// How long it may take until a request comes that can be held back.
const MET_TIMEOUT: Duration = Duration::from_secs(60);

/// Does a fault and undoes it; says in a few words to whom. When it returns, its cause is gone.
pub fn act(fault: Fault, stage: &mut Stage, plan: &mut Plan) -> Result<String> {
    let one = plan.one_of(MEMBERS);
    match fault {
        Fault::Kill => {
            stage.kill(one)?;
            stage.start(one)?;
            Ok(stage.name(one).to_owned())
        }
        Fault::StopShort => stop(stage, one, plan.millis(200, 2_500)),
        Fault::StopLong => {
            let longest = SESSION.max(TRANSACTION);
            stop(stage, one, longest + plan.millis(2_500, 5_000))
        }
        Fault::Deploy => deploy(stage),
        Fault::BrokerKill | Fault::BrokerRestart => broker(fault, stage, one, plan),
        Fault::Cut => {
            stage.proxies[one].cut();
            Ok(format!("broker {}", one + 1))
        }
        Fault::Stall => {
            stage.proxies[one].stall(true);
            let during = plan.millis(500, 7_000);
            pause(during);
            stage.proxies[one].stall(false);
            Ok(format!("broker {}, {:.1} s", one + 1, during.as_secs_f64()))
        }
        Fault::Delay => {
            let (by, during) = (plan.millis(20, 250), plan.millis(2_000, 5_000));
            stage.proxies[one].delay(by);
            pause(during);
            stage.proxies[one].delay(Duration::ZERO);
            let (by, during) = (by.as_millis(), during.as_secs_f64());
            Ok(format!("broker {}, {by} ms each way for {during:.1} s", one + 1))
        }
        Fault::LateEndTxn => late(stage, plan, Request::EndTxn),
        Fault::LateOffsets => late(stage, plan, Request::TxnOffsetCommit),
        Fault::LateProduce => late(stage, plan, Request::Produce),
        Fault::StoreDeleted => {
            let stores = stage.kill(one)?.join("stores");
            fs::remove_dir_all(&stores).doing(|| format!("cannot delete {}", stores.display()))?;
            stage.start(one)?;
            Ok(stage.name(one).to_owned())
        }
        Fault::StoreDamaged => {
            let state = stage.kill(one)?;
            let what = damage(&state.join("stores"), plan)?;
            stage.start(one)?;
            Ok(format!("{}: {what}", stage.name(one)))
        }
        Fault::Rewind => rewind(stage, plan),
    }
}

/// The stated length of a fault.
fn pause(during: Duration) {
    thread::sleep(during);
}

fn stop(stage: &mut Stage, one: usize, during: Duration) -> Result<String> {
    stage.freeze(one)?;
    pause(during);
    stage.thaw(one)?;
    Ok(format!("{}, {:.1} s", stage.name(one), during.as_secs_f64()))
}

fn deploy(stage: &mut Stage) -> Result<String> {
    for member in 0..MEMBERS {
        stage.end(member)?;
        stage.start(member)?;
        stage.wait_ready(member)?;
    }
    Ok("all in turn".to_owned())
}

fn broker(fault: Fault, stage: &mut Stage, one: usize, plan: &mut Plan) -> Result<String> {
    // Two of three replicas have to be in sync: as long as they are not, no other may go.
    stage.broker.wait_ready(Duration::from_secs(90))?;
    let node = stage.broker.node(one + 1)?;
    match fault {
        Fault::BrokerKill => node.kill()?,
        _ => node.terminate()?,
    }
    let during = plan.millis(500, 5_000);
    pause(during);
    stage.broker.start_again(one + 1)?;
    in_sync(stage)?;
    Ok(format!("broker {}, {:.1} s", one + 1, during.as_secs_f64()))
}

/// Waits until every replica of the route's topics is in sync again.
fn in_sync(stage: &Stage) -> Result<()> {
    let admin = Admin::new(&stage.scene.bootstrap)?;
    let scene = &stage.scene;
    let topics = [scene.raw(), scene.clean(), scene.quarantine(), scene.journal()];
    let what = "all replicas are in sync";
    wait_for(Duration::from_secs(120), what, || {
        for topic in topics.iter().map(String::as_str).chain(OF_THE_CLUSTER) {
            let lag = admin.out_of_sync(topic).map_err(|error| error.to_string())?;
            if lag > 0 {
                return Err(format!("{lag} partitions of {topic} lack a replica"));
            }
        }
        Ok(())
    })
}

/// What every transaction needs.
const OF_THE_CLUSTER: [&str; 2] = ["__consumer_offsets", "__transaction_state"];

fn late(stage: &mut Stage, plan: &mut Plan, request: Request) -> Result<String> {
    let late_by = plan.millis(300, 4_000);
    let count = |stage: &Stage| stage.proxies.iter().map(Proxy::late).sum::<u64>();
    let before = count(stage);
    // Whichever broker such a request goes to.
    stage.proxies.iter().for_each(|proxy| proxy.hold(request, late_by));
    wait_for(MET_TIMEOUT, &format!("a late {request:?} request came to its broker"), || {
        stage.tend().map_err(|error| error.to_string())?;
        match count(stage) > before {
            true => Ok(()),
            false => Err("none".to_owned()),
        }
    })?;
    stage.proxies.iter().for_each(Proxy::forget_hold);
    Ok(format!("{} of them, {:.1} s late", count(stage) - before, late_by.as_secs_f64()))
}

/// Flips bytes in a file of the stores, or takes one out; says what it did.
fn damage(stores: &Path, plan: &mut Plan) -> Result<String> {
    let mut files = Vec::new();
    collect(stores, &mut files)?;
    files.sort();
    let named = |name: &str| -> Vec<PathBuf> {
        let is = |path: &&PathBuf| {
            path.file_name().is_some_and(|file| file.to_string_lossy().contains(name))
        };
        files.iter().filter(is).cloned().collect()
    };
    let kinds = [named("CURRENT"), named("MANIFEST"), named(".sst")];
    let begin = plan.one_of(kinds.len());
    let kinds = (0..kinds.len()).map(|step| &kinds[(begin + step) % kinds.len()]);
    let Some(of_kind) = kinds.into_iter().find(|of_kind| !of_kind.is_empty()) else {
        return Ok("no store had a file yet".to_owned());
    };
    let path = &of_kind[plan.one_of(of_kind.len())];
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if file == "CURRENT" {
        fs::remove_file(path).doing(|| format!("cannot take out {}", path.display()))?;
        return Ok("CURRENT taken out".to_owned());
    }
    let mut bytes = fs::read(path).doing(|| format!("cannot read {}", path.display()))?;
    for _ in 0..16.min(bytes.len()) {
        let place = plan.one_of(bytes.len());
        bytes[place] ^= 0xff;
    }
    fs::write(path, bytes).doing(|| format!("cannot write {}", path.display()))?;
    Ok(format!("bytes of {file} flipped"))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).doing(|| format!("cannot read {}", folder.display()))? {
        let path = entry.doing(|| format!("cannot read {}", folder.display()))?.path();
        match path.is_dir() {
            true => collect(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}

/// Moves each partition of the group back by up to a fifth, which a group takes only when nobody
/// is in it.
fn rewind(stage: &mut Stage, plan: &mut Plan) -> Result<String> {
    (0..MEMBERS).try_for_each(|member| stage.end(member))?;
    let (scene, admin) = (&stage.scene, Admin::new(&stage.scene.bootstrap)?);
    let (group, raw) = (scene.group(), scene.raw());
    let lows = watermarks(&scene.bootstrap, &raw)?;
    let mut offsets = Vec::new();
    let mut back = 0;
    for partition in 0..PARTITIONS {
        let at = committed_offset(&scene.bootstrap, &group, &raw, partition)?;
        let at = at.map_or(0, |(offset, _)| offset);
        let low = lows[partition as usize].0;
        let by = plan.one_of(((at - low) / 5).max(1) as usize) as i64;
        back += by;
        let metadata = String::new();
        offsets.push(GroupOffset { topic: raw.clone(), partition, offset: at - by, metadata });
    }
    // Static members do not leave: their session has to end.
    wait_until(EMPTY_TIMEOUT, "the group has no members and takes offsets", || {
        admin.set_group_offsets(&group, &offsets).is_ok()
    })?;
    (0..MEMBERS).try_for_each(|member| stage.start(member))?;
    match back {
        0 => Err(KitError::new("nothing was committed that could be taken back")),
        _ => Ok(format!("by {back} records in all")),
    }
}
