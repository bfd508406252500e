//! Journal: the entry codec.
