//! The recipes that come with oncegate, in the library itself, so that a key can be derived where
//! no file of them is. Must not be in here: a recipe that `config/recipes` does not hold.

macro_rules! shipped {
    ($($name:literal,)*) => {
        /// Name and text of each recipe, in the order of the documentation.
        const SHIPPED: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../config/recipes/", $name, ".toml"))),)*
        ];
    };
}

shipped! {
    "inventory-batch",
    "inventory-item",
    "epcis-event",
    "epcis-document",
    "lab-result",
    "fhir-observation",
    "reference/inventory-batch",
    "reference/inventory-item",
    "reference/epcis-event",
    "reference/lab-result",
}

/// Names of the recipes that come with oncegate (`docs/recipes.md` says what each is for).
pub fn shipped_recipes() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| *name)
}

/// The text of a recipe that comes with oncegate; `None` where there is none of this name.
///
/// ```
/// use oncegate::identity::{Recipe, shipped_recipe};
///
/// let text = shipped_recipe("lab-result").unwrap();
/// assert_eq!(Recipe::parse("lab-result", text).unwrap().name(), "lab-result");
/// ```
pub fn shipped_recipe(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
}
