//! Exactly-once against a real broker: what readers of the clean topic saw, compared with what
//! the generator sent.

use oncegate_testkit::broker::{Broker, BrokerOptions};
use oncegate_testkit::generator::{Kind, Sample, SampleOptions, Sent};
use oncegate_testkit::produce::{Timestamps, produce};
use oncegate_testkit::scene::{Scene, SceneOptions};

fn sample(seed: u64, kind: Kind, records: usize) -> Vec<Sent> {
    let options = SampleOptions { seed, records, kinds: vec![kind], ..SampleOptions::default() };
    Sample::new(options).unwrap().sent(kind)
}

#[test]
fn plain_run() {
    let broker = Broker::start(BrokerOptions::default()).unwrap();
    let scene = Scene::new(&broker, "plain", SceneOptions::default()).unwrap();
    let sent = sample(7, Kind::Lab, 20_000);
    produce(&scene.bootstrap, &scene.raw(), &sent, Timestamps::EventTime).unwrap();
    let mut process = scene.start("one").unwrap();
    if let Err(e) = scene.wait_until_through() {
        panic!("{e}\n{}", scene.log("one"));
    }
    let found = scene.compare(&sent).unwrap();
    assert!(found.is_exact(), "{found}\n{}", scene.log("one"));
    process.terminate().unwrap();
    println!("{}", scene.log("one"));
}
