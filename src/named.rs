//! Closed lists: enums whose every value has one name, for logs, status, metrics and documents.
//! Must not be in here: any list.

/// Declares such an enum, with `ALL` of its values and the name of each as `as_str`.
macro_rules! named {
    ($(#[$meta:meta])* pub enum $list:ident { $($(#[$doc:meta])* $value:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $list { $($(#[$doc])* $value,)+ }

        impl $list {
            /// Every value.
            pub const ALL: &'static [$list] = &[$($list::$value,)+];

            /// The name used in logs, status and metrics.
            pub fn as_str(self) -> &'static str {
                match self { $($list::$value => $name,)+ }
            }
        }
    };
}

pub(crate) use named;
