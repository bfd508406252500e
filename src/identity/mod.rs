//! Identity: from the bytes of a record to its event keys.
