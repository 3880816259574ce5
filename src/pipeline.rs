//! The stages, called in order.
