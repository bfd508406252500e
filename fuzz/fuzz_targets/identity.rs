//! Any bytes under every recipe of the project: nothing panics, and a deriver that has seen other
//! records answers like a fresh one.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oncegate::identity::{ContentDigest, Deriver, EventKey, Recipe, Rejection};
use std::cell::RefCell;
use std::sync::Arc;

const RECIPES: [&str; 6] = [
    include_str!("../../config/recipes/lab-result.toml"),
    include_str!("../../config/recipes/epcis-event.toml"),
    include_str!("../../config/recipes/inventory-batch.toml"),
    include_str!("../../config/recipes/inventory-item.toml"),
    include_str!("../../config/recipes/epcis-document.toml"),
    include_str!("../../config/recipes/fhir-observation.toml"),
];

thread_local! {
    static DERIVERS: RefCell<Vec<(Arc<Recipe>, Deriver)>> = RefCell::new(
        RECIPES
            .iter()
            .map(|text| Arc::new(Recipe::parse("recipe", text).expect("the recipe is good")))
            .map(|recipe| (recipe.clone(), Deriver::new(recipe)))
            .collect(),
    );
}

type Answers = Result<Vec<Result<(EventKey, ContentDigest), Rejection>>, Rejection>;

fn answers(deriver: &mut Deriver, bytes: &[u8]) -> Answers {
    let events = deriver.derive(bytes)?;
    let answer = |event: Result<oncegate::identity::Event<'_>, &Rejection>| match event {
        Ok(event) => Ok((event.key, event.digest)),
        Err(rejection) => Err(rejection.clone()),
    };
    Ok(events.iter().map(answer).collect())
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, document)) = bytes.split_first() else { return };
    DERIVERS.with_borrow_mut(|derivers| {
        let at = usize::from(*first) % derivers.len();
        let (recipe, warm) = &mut derivers[at];
        let fresh = answers(&mut Deriver::new(recipe.clone()), document);
        assert_eq!(answers(warm, document), fresh);
    });
});
