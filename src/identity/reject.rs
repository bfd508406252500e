//! Why a record or an item has no key: a closed list of reasons, and where the fault lies.
//!
//! Nothing here may hold a value of the document: a rejection names a pointer of the recipe, a
//! rule, and for a fault of syntax the position of a byte. It ends up in logs and headers.

use std::fmt;

macro_rules! reasons {
    ($($variant:ident $name:literal $meaning:literal,)*) => {
        /// The closed list of reasons. [`Reason::as_str`] gives the name that stands in records
        /// and metrics; the names are those of the vectors and never change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            $(#[doc = $meaning] $variant,)*
        }

        impl Reason {
            /// Every reason, in the order of the documentation.
            pub const fn all() -> &'static [Reason] {
                &[$(Reason::$variant,)*]
            }

            /// The name in kebab case, such as `not-text`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Reason::$variant => $name,)* }
            }

            /// One sentence that says what the reason means.
            pub const fn meaning(self) -> &'static str {
                match self { $(Reason::$variant => $meaning,)* }
            }
        }
    };
}

reasons! {
    NotText "not-text" "A text is due and something else, or nothing, stands there.",
    Empty "empty" "A text is blank, or a list of items is missing or has no item.",
    Character "character" "A text holds a control or format character, or one that its kind does not allow.",
    NotNumber "not-number" "A decimal number is due and something else stands there.",
    Scale "scale" "A number has more decimals than the recipe keeps.",
    Range "range" "A number has too many digits, or a time lies outside the years that are read.",
    Unit "unit" "A unit that the recipe's table, or UCUM, does not know.",
    Ndc "ndc" "Not a National Drug Code, or one that can be read in two ways.",
    Uuid "uuid" "Not a UUID in its hyphenated form.",
    Enum "enum" "Not one of the values that the recipe lists.",
    Timestamp "timestamp" "Not a time in the declared format, or one without a zone.",
    Precision "precision" "A time that is finer or coarser than the recipe's precision.",
    Gtin "gtin" "Not a GTIN, or one with a wrong check digit.",
    Serial "serial" "Not a GS1 serial number: character set 82, 1 to 20 characters.",
    Epc "epc" "Not an identifier of GS1 in any form that can be read with certainty.",
    Cbv "cbv" "Not a value of the GS1 Core Business Vocabulary and not a user's own URI.",
    Loinc "loinc" "Not a LOINC code, or one with a wrong check digit.",
    Coding "coding" "A list holds no entry, or more than one, of the system that identifies.",
    Json "json" "Not strict JSON, or not the shape that the recipe needs.",
    Separator "separator" "A field of a tuple holds the character that separates fields.",
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A normalizer's answer to a value that it cannot read: the reason and the rule that was broken.
///
/// It is one word, so that the answers of normalizers travel in a register.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fault(&'static (Reason, &'static str));

impl Fault {
    pub(crate) const fn of(fault: &'static (Reason, &'static str)) -> Fault {
        Fault(fault)
    }

    /// The reason under which it is counted.
    pub const fn reason(self) -> Reason {
        self.0.0
    }

    /// The rule in words, without any value.
    pub const fn rule(self) -> &'static str {
        self.0.1
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fault({}: {})", self.reason(), self.rule())
    }
}

/// Makes a [`Fault`] of a reason and a rule that are constants.
macro_rules! fault {
    ($reason:expr, $rule:expr $(,)?) => {
        $crate::identity::reject::Fault::of(const { &($reason, $rule) })
    };
}
pub(crate) use fault;

/// Why a record, or one item of it, is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The reason under which it is counted.
    pub reason: Reason,
    pointer: Box<str>,
    rule: &'static str,
    position: Option<usize>,
}

impl Rejection {
    pub(crate) fn at(pointer: impl Into<Box<str>>, fault: Fault) -> Rejection {
        Rejection {
            reason: fault.reason(),
            pointer: pointer.into(),
            rule: fault.rule(),
            position: None,
        }
    }

    pub(crate) fn syntax(rule: &'static str, position: usize) -> Rejection {
        Rejection { reason: Reason::Json, pointer: "".into(), rule, position: Some(position) }
    }

    /// The JSON pointer as the recipe names it, with the index of an item where there is one
    /// (`/items/3/unit`); empty when the document as a whole is at fault.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// The rule that was broken, in words; never a value of the document.
    pub fn rule(&self) -> &'static str {
        self.rule
    }

    /// For a fault of JSON syntax: how many bytes stand before it.
    pub fn position(&self) -> Option<usize> {
        self.position
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = if self.pointer.is_empty() { "document" } else { &self.pointer };
        match self.position {
            None => write!(f, "{pointer}: {}", self.rule),
            Some(position) => write!(f, "{pointer}: {} (byte {position})", self.rule),
        }
    }
}

impl std::error::Error for Rejection {}
