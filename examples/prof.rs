use oncegate::identity::{Deriver, Recipe};
use std::sync::Arc;
use std::time::{Duration, Instant};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let r = std::fs::read_to_string(format!("config/recipes/{}.toml", a[1])).unwrap();
    let doc = std::fs::read(&a[2]).unwrap();
    let n: usize = a[3].parse().unwrap();
    let only = a.len() > 4;
    let mut d = Deriver::new(Arc::new(Recipe::parse("r", &r).unwrap()));
    let mut best = Duration::MAX;
    let mut bs = Duration::MAX;
    for _ in 0..200 {
        let t = Instant::now();
        for _ in 0..n / 200 {
            let e = d.derive(std::hint::black_box(&doc)).unwrap();
            std::hint::black_box(e.iter().next());
        }
        best = best.min(t.elapsed() / (n / 200) as u32);
        if only {
            continue;
        }
        let t = Instant::now();
        for _ in 0..n / 200 {
            let v: serde_json::Value = serde_json::from_slice(std::hint::black_box(&doc)).unwrap();
            std::hint::black_box(v);
        }
        bs = bs.min(t.elapsed() / (n / 200) as u32);
    }
    println!(
        "{} derive {:?} serde {:?} ratio {:.3}",
        a[1],
        best,
        bs,
        best.as_secs_f64() / bs.as_secs_f64()
    );
}
