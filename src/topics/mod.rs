//! The topics that oncegate writes: how they are declared, and how the cluster differs from that.
//! Must not be in here: an alteration. What exists is compared, what is missing is created, and
//! the rest is a person's to decide.

mod declaration;
mod needs;
mod plan;

pub use declaration::{Declarations, TopicDeclaration};
pub use needs::{OUTPUT_SPARE_BYTES, needs};
pub use plan::{Difference, Plan, plan, topic_names};
