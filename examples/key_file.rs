//! Keys a file of one document a line: `key_file config/recipes/lab-result.toml results.jsonl`.

use oncegate::identity::{Deriver, Recipe};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [recipe, file] =
        [1, 2].map(|n| std::env::args().nth(n).expect("a recipe and a file are due"));
    let recipe = Recipe::parse(&recipe, &std::fs::read_to_string(&recipe)?)?;
    let mut deriver = Deriver::new(recipe.into());
    for line in std::fs::read_to_string(file)?.lines() {
        match deriver.derive(line.as_bytes()) {
            Err(rejection) => println!("{} {rejection}", rejection.reason),
            Ok(events) => events.iter().for_each(|event| match event {
                Ok(event) => println!("{} {}", event.key_text(), event.digest),
                Err(rejection) => println!("{} {rejection}", rejection.reason),
            }),
        }
    }
    Ok(())
}
